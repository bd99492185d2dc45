import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { Duration, type Stack } from 'aws-cdk-lib'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { LocalCloud, LocalCloudOptions } from '../../../local/cloud.ts'
import { aFolder } from '../../support/a-folder.ts'
import { createBarrier, waitingCode } from '../barrier.ts'
import { bootTinyCloud, eventually } from '../tiny-cloud.ts'

let cloud: LocalCloud | undefined
afterEach(async () => {
  vi.restoreAllMocks()
  await cloud?.stop()
})

const folderWith = (code: string) => {
  const folder = aFolder()
  writeFileSync(join(folder, 'index.js'), code)
  return folder
}

/** A function `Api` of version `one`, with a queue that it consumes. */
const aFunction = (code: string) => (stack: Stack) => {
  const queue = new Queue(stack, 'Work', { visibilityTimeout: Duration.minutes(5) })
  const target = new LambdaFunction(stack, 'Api', {
    ...{ runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code: Code.fromInline(code) },
    timeout: Duration.minutes(1),
  })
  target.addEventSource(new SqsEventSource(queue))
}

async function boot(code: string, options: Partial<LocalCloudOptions> = {}) {
  cloud = await bootTinyCloud(aFunction(code), options)
  return { cloud, api: cloud.functions.find('Api') }
}

const send = (running: LocalCloud, body: string) => {
  const QueueUrl = running.resource('AWS::SQS::Queue').physicalId
  return new SQSClient(running.clientOptions).send(new SendMessageCommand({ QueueUrl, MessageBody: body }))
}

const stateIn = (running: LocalCloud) =>
  running.inspectQueue(running.resource('AWS::SQS::Queue').arn).messages[0]?.state

/** A handler that logs how often SQS has delivered each message. */
const counting = `exports.handler = async ({ Records }) => {
  for (const { body, attributes } of Records) console.log(body, 'received', attributes.ApproximateReceiveCount)
}`

describe('replaced code', () => {
  it('serves new invocations at once, and those under way end on the old code', async () => {
    const { api } = await boot(waitingCode('one'))
    const barrier = createBarrier()
    const underWay = api.invoke({ folder: barrier.folder })
    await barrier.begun()

    await api.replaceCode(folderWith(waitingCode('two')))

    expect(await api.invoke({})).toMatchObject({ payload: { version: 'two' } })
    barrier.open()
    expect(await underWay).toMatchObject({ payload: { version: 'one' } })
    await eventually('the end of the old process', () => api.pids().length === 1)
  })

  it('asks an invocation of more than 30 s to stop by SIGTERM, if its function listens to that', async () => {
    const { api } = await boot(`
      let stop
      const stopped = new Promise(resolve => { stop = resolve })
      process.on('SIGTERM', () => stop())
      const { writeFileSync } = require('node:fs')
      exports.handler = async ({ folder }) => {
        writeFileSync(folder + '/begun', '')
        await stopped
        return 'released'
      }`)
    const barrier = createBarrier()
    const underWay = api.invoke({ folder: barrier.folder })
    await barrier.begun()
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 31_000)

    await api.replaceCode(folderWith(waitingCode('two')))

    expect(await underWay).toMatchObject({ ok: true, payload: 'released' })
  })

  it('leaves an invocation of more than 30 s to its end when its function would die of SIGTERM', async () => {
    const { api } = await boot(waitingCode('one'))
    const barrier = createBarrier()
    const underWay = api.invoke({ folder: barrier.folder })
    await barrier.begun()
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 31_000)

    await api.replaceCode(folderWith(waitingCode('two')))
    expect(await api.invoke({})).toMatchObject({ payload: { version: 'two' } })
    barrier.open()

    expect(await underWay).toMatchObject({ payload: { version: 'one' } })
  })

  it.each([
    ['with a syntax error', 'exports.handler = async (', /^SyntaxError: .* \(index\.js:1\)$/],
    ['that throws while it is loaded', 'throw new Error("no settings")', /^Error: no settings$/],
    ['without a handler', 'exports.other = 1', /^Error: index\.handler is undefined or not exported$/],
  ])('%s replaces nothing, and the reason is returned', async (_what, broken, line) => {
    const { api } = await boot(waitingCode('one'))
    expect(await api.invoke({})).toMatchObject({ payload: { version: 'one' } })

    const { problem, isLive } = await api.replaceCode(folderWith(broken))

    expect(`${problem?.errorType}: ${problem?.errorMessage}`).toMatch(line)
    expect(isLive).toBe(false)
    expect(await api.invoke({})).toMatchObject({ payload: { version: 'one' } })
  })

  it('that ends its process while it loads replaces nothing', async () => {
    const { api } = await boot(waitingCode('one'))
    await api.invoke({})

    expect(await api.replaceCode(folderWith('process.exit(3)'))).toMatchObject({
      problem: { errorMessage: 'Runtime exited with error: exit status 3' },
      isLive: false,
    })
    expect(await api.invoke({})).toMatchObject({ payload: { version: 'one' } })
  })
})

describe('code that has never loaded', () => {
  it.each([
    ['with a syntax error', 'exports.handler = async (', /^SyntaxError: .* \(index\.js:1\)$/],
    ['that throws while it is loaded', 'throw new Error("no settings")', /^Error: no settings$/],
  ])('%s says so; messages wait for code that loads, and are received once', async (_what, broken, line) => {
    const { cloud: running, api } = await boot(broken)

    await send(running, 'patient')
    await eventually('its receipt', () => stateIn(running) === 'in-flight')
    await eventually('the reason', () => api.logs.some(one => line.test(one)))
    await api.replaceCode(folderWith(counting))

    await eventually('the message', () => api.logs.includes('patient received 1'))
  })
})

describe('`code`', () => {
  it('is asked when the first process starts; undefined stands for the code of the template', async () => {
    const asked: unknown[] = []
    const folder = folderWith(waitingCode('mine'))
    const code = (id: string, metadata: object) => {
      asked.push([id, metadata])
      return asked.length > 1 ? undefined : Promise.resolve(folder)
    }
    const { api } = await boot(waitingCode('template'), { code })
    expect(asked).toEqual([])

    expect(await api.invoke({})).toMatchObject({ payload: { version: 'mine' } })
    expect(await api.invoke({})).toMatchObject({ payload: { version: 'mine' } })
    expect(asked).toEqual([[api.logicalId, { 'aws:cdk:path': 'Tiny/Api/Resource' }]])
    await cloud?.stop()
    const again = await boot(waitingCode('template'), { code })

    expect(await again.api.invoke({})).toMatchObject({ payload: { version: 'template' } })
  })

  it('that is not there fails the invocation with the reason, and its messages wait', async () => {
    const code = () => Promise.reject(new Error('shop.ts:3: expected ";"'))
    const { cloud: running, api } = await boot(counting, { code })

    expect(await api.invoke({})).toMatchObject({ error: { errorMessage: 'shop.ts:3: expected ";"' } })
    await send(running, 'patient')
    await eventually('its receipt', () => stateIn(running) === 'in-flight')
    await api.replaceCode(folderWith(counting))

    await eventually('the message', () => api.logs.includes('patient received 1'))
  })
})

it('a function with a debugger runs in one process at the port, without timeouts, also after its code was replaced', async () => {
  const port = await freePort()
  const probe = await boot(waitingCode('one'))
  const { logicalId } = probe.api
  await probe.cloud.stop()
  const { api } = await boot(waitingCode('one'), { inspect: { functionId: logicalId, port } })
  const targets = async () => (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as unknown[]

  const answers = await Promise.all([api.invoke({}), api.invoke({})])

  const payloads = answers.map(answer => (answer as { payload: { pid: number; leftMs: number } }).payload)
  expect(payloads[0]?.pid).toBe(payloads[1]?.pid)
  expect(payloads[0]?.leftMs).toBeGreaterThan(3_600_000)
  expect(await targets()).toHaveLength(1)
  await api.replaceCode(folderWith(waitingCode('two')))
  expect(await api.invoke({})).toMatchObject({ payload: { version: 'two' } })
  expect(await targets()).toHaveLength(1)
  expect(api.pids()).toHaveLength(1)
})

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
