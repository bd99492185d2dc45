import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SendMessageCommand, SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failureMessage, type StreamRecord } from '../../../local/mappings/stream-batch.ts'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { aFolder } from '../../support/a-folder.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { queuesOf } from '../../support/local-system/queues.ts'
import { testAssembly } from '../synthesise.ts'

/** Messages that are given up on the local system: collected by the sweeper, explained, listed, and sent again. */

const PATIENCE = { timeout: 120_000, interval: 50 }

const system = aLocalSystem()
const { queue, messagesIn, inDeadLetterQueue, giveUp } = queuesOf(system)
let sqs: SQSClient
let folder: string
/** While this file exists, the functions of `aDyingFunction` end their process with each invocation. */
let killing: string

beforeAll(async () => {
  system.cloud.scheduler.disable('Sweep')
  sqs = new SQSClient(system.cloud.clientOptions)
  folder = aFolder()
  killing = join(folder, 'killing')
  // A message that was received and not deleted is there again at once.
  await setAttributes('DeadLetters', { VisibilityTimeout: '0' })
})

afterAll(async () => {
  sqs?.destroy()
  rmSync(folder, { recursive: true, force: true })
})

/** Makes a function of the system end its process with each invocation, until the returned function is called. */
async function aDyingFunction(name: string): Promise<() => void> {
  const assembly = await testAssembly()
  const { Resources } = JSON.parse(readFileSync(join(assembly, 'Baton.template.json'), 'utf8'))
  const fn = system.cloud.functions.find(name)
  const code = join(folder, name)
  const own = join(assembly, Resources[fn.logicalId].Metadata['aws:asset:path'])
  cpSync(own, join(code, 'code'), { recursive: true })
  writeFileSync(
    join(code, 'index.mjs'),
    `import { existsSync } from 'node:fs'
const own = import('./code/index.mjs')
export const handler = async (event, context) =>
  existsSync(${JSON.stringify(killing)}) ? process.exit(1) : (await own).handler(event, context)
`,
  )
  writeFileSync(killing, '')
  await fn.replaceCode(code)
  return () => rmSync(killing)
}

function setAttributes(name: string, Attributes: Record<string, string>) {
  return sqs.send(new SetQueueAttributesCommand({ QueueUrl: queue(name).physicalId, Attributes }))
}

async function sweep(): Promise<void> {
  const result = await system.cloud.functions.find('Sweeper').invoke({})
  if (!result.ok) throw new Error(result.error.errorMessage)
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read as users read them
type Letter = any

async function letters(query = ''): Promise<Letter[]> {
  const { status, body } = await system.call('GET', `/v1/dead-letters?limit=100${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.items
}

async function lettersAbout(taskId: string): Promise<Letter[]> {
  return (await letters()).filter(letter => letter.taskId === taskId)
}

async function replay(body: object) {
  return system.call('POST', '/v1/dead-letters/replay', body)
}

/** Publishes a probe whose dispatch is given up, and collects it. */
async function aDeadDispatch(key: string): Promise<{ id: string; letter: Letter }> {
  const id = await system.publish({ type: 'probe', key, input: { report: system.reportUrl } })
  await giveUp(sqs, `probe:${key}`, 'Probe')
  await sweep()
  const [letter] = await lettersAbout(id)
  return { id, letter }
}

describe('a dispatch whose receiver dies each time', () => {
  it('is collected and explained, and its replay lets the task run to its end', async () => {
    const redriveAfter = (maxReceiveCount: number) =>
      JSON.stringify({ deadLetterTargetArn: queue('DeadLetters').arn, maxReceiveCount })
    await setAttributes('Probe', { VisibilityTimeout: '1', RedrivePolicy: redriveAfter(2) })
    const repair = await aDyingFunction('Probe')
    const id = await system.publish({ type: 'probe', key: 'dies', input: {} })
    await expect.poll(() => inDeadLetterQueue(id).length, PATIENCE).toBe(1)
    await setAttributes('Probe', { RedrivePolicy: redriveAfter(10) })

    await sweep()
    const [letter, ...others] = await lettersAbout(id)
    const why = (await system.call('GET', pathOf('why', id))).body
    const left = messagesIn('DeadLetters').length
    repair()
    const answer = await replay({ ids: [letter.id] })
    const task = await system.taskWhen(id, hasEnded)

    expect([others, left]).toEqual([[], 0])
    expect(letter).toMatchObject({
      ...{ queue: 'type:probe', kind: 'dispatch', taskId: id, type: 'probe', receives: 2, replayable: true },
      sentence: expect.stringMatching(
        /^The message that announces probe:dies to workers was given up before /,
      ),
      next: expect.stringContaining('Read the log of the handler of probe'),
    })
    expect(why).toMatchObject({ status: 'ready', reason: 'dead-lettered', deadLetterId: letter.id })
    expect(why.sentence).toMatch(/announces it to workers of probe was given up, after 2 deliveries, before /)
    expect(why.next).toContain(`POST /v1/dead-letters/replay with {"ids": ["${letter.id}"]}`)
    expect(answer).toMatchObject({ status: 200, body: { results: [{ id: letter.id, status: 200 }] } })
    expect(task).toMatchObject({ status: 'succeeded', runs: [{ state: 'succeeded' }] })
    expect(await lettersAbout(id)).toEqual([])
  }, 180_000)
})

describe('dead letters', () => {
  it('do nothing when they are sent again after their task has ended', async () => {
    const mapping = system.cloud.mapping('Probe')
    mapping.pause()
    const { id, letter } = await aDeadDispatch('late')
    await system.call('POST', `/v1/tasks/${id}/cancel`)
    const before = (await system.call('GET', `/v1/tasks/${id}`)).body
    const why = (await system.call('GET', pathOf('why', id))).body

    const answer = await replay({ ids: [letter.id] })
    mapping.resume()
    await expect.poll(() => messagesIn('Probe').length, PATIENCE).toBe(0)

    expect(why.reason).toBe('cancelled')
    expect(answer.body.results).toEqual([{ id: letter.id, status: 200 }])
    expect((await system.call('GET', `/v1/tasks/${id}`)).body).toEqual(before)
  }, 120_000)

  it('of the wake queue are sent again, and the look does its work', async () => {
    await system.call('PUT', '/v1/types/later', { kind: 'http' })
    const waker = system.cloud.mapping('Waker')
    waker.pause()
    const id = await system.publish({ type: 'later', key: 'a', delayMs: 500 })
    await giveUp(sqs, id, 'Wake')
    await sweep()
    const [letter] = await lettersAbout(id)

    const { status, body } = await replay({ queue: 'wake' })
    waker.resume()

    expect(letter).toMatchObject({ queue: 'wake', kind: 'look', replayable: true, receives: 10 })
    expect(letter.sentence).toContain('the sweeper looks at the task itself')
    expect({ status, body }).toEqual({ status: 200, body: { results: [{ id: letter.id, status: 200 }] } })
    const claim = async () =>
      (await system.call('POST', '/v1/claims', { type: 'later', workerId: 'w' })).body.claims.length
    await expect.poll(claim, PATIENCE).toBe(1)
  }, 120_000)

  it('that no version can read are kept whole, and sent again as they are', async () => {
    const body = `{"v":1,"kind":"riddle","text":"${'x'.repeat(300_000)}"}`
    const waker = system.cloud.mapping('Waker')
    waker.pause()
    await sqs.send(new SendMessageCommand({ QueueUrl: queue('Wake').physicalId, MessageBody: body }))
    await giveUp(sqs, 'riddle', 'Wake')
    await sweep()
    const [letter] = await letters('&queue=wake')

    const answer = await replay({ ids: [letter.id, letter.id] })

    expect(letter).toMatchObject({ kind: 'unreadable', queue: 'wake', bytes: body.length })
    expect(answer.body.results).toEqual([{ id: letter.id, status: 200 }])
    expect(messagesIn('Wake').map(message => message.body)).toContain(body)
    waker.resume()
  }, 120_000)

  it('are collected once, whatever interrupts the sweeper between the write and the deletion', async () => {
    const mapping = system.cloud.mapping('Probe')
    mapping.pause()
    const id = await system.publish({ type: 'probe', key: 'twice', input: {} })
    await giveUp(sqs, id, 'Probe')
    const sweeper = system.cloud.functions.find('Sweeper')
    const caller = sweeper.logicalId
    const end = system.cloud.faults.add({
      ...{ caller, service: 'sqs', operation: 'DeleteMessageBatch', action: 'fail-before' },
    })

    const result = await sweeper.invoke({})
    const hits = end()
    const first = await lettersAbout(id)
    const still = inDeadLetterQueue(id).length
    await sweep()

    expect(hits).toBeGreaterThan(0)
    expect(result.ok).toBe(false)
    expect([first.length, still]).toEqual([1, 1])
    expect(inDeadLetterQueue(id)).toEqual([])
    expect((await lettersAbout(id)).map(one => one.id)).toEqual(first.map(one => one.id))
    mapping.resume()
  }, 120_000)

  it('that cannot be written stay in their queue', async () => {
    const mapping = system.cloud.mapping('Probe')
    mapping.pause()
    const id = await system.publish({ type: 'probe', key: 'kept', input: {} })
    await giveUp(sqs, id, 'Probe')
    const end = system.cloud.faults.add({
      ...{ caller: system.cloud.functions.find('Sweeper').logicalId, service: 'dynamodb' },
      ...{ operation: 'PutItem', action: 'fail-before' },
      matches: ({ Item }) => JSON.stringify(Item ?? {}).includes('dead-letters'),
    })

    await sweep().catch(() => undefined)
    end()
    const while0 = [inDeadLetterQueue(id).length, (await lettersAbout(id)).length]
    await sweep()

    expect(while0).toEqual([1, 0])
    expect([inDeadLetterQueue(id).length, (await lettersAbout(id)).length]).toEqual([0, 1])
    mapping.resume()
  }, 120_000)

  it('cost half a read unit for each 4 KB, and one page has one queue', async () => {
    const mapping = system.cloud.mapping('Probe')
    mapping.pause()
    await aDeadDispatch('counted')
    const { logicalId } = system.cloud.functions.find('TasksApiFunction')
    const before = system.cloud.meter.snapshot()

    const items = await letters('&queue=type:probe')

    const lines = system.cloud.meter.since(before).filter(({ caller }) => caller === logicalId)
    const units = lines.reduce((sum, { readUnits }) => sum + readUnits, 0)
    expect(items.length).toBeGreaterThan(0)
    expect(items.every(({ queue: name }) => name === 'type:probe')).toBe(true)
    expect(units).toBeLessThanOrEqual(Math.ceil((items.length * 3) / 4) * 0.5 + 0.5)
    mapping.resume()
  }, 120_000)
})

describe('a batch of the stream that the planner gave up', () => {
  it('is explained and cannot be sent again; the sweeper plans the task without it', async () => {
    const id = await publishUnplanned('unplanned')
    await sweep()

    const [letter] = await letters('&queue=stream')
    const answer = await replay({ ids: [letter.id] })

    expect(letter).toMatchObject({ kind: 'changes', replayable: false, receives: 0 })
    expect(letter.error).toBe('RecordAgeExceeded after 9000 invocations')
    expect(letter.sentence).toMatch(/^A batch of \d+ changes? of the table was given up/)
    expect(letter.sentence).toContain('the sweeper plans these tasks from the table')
    expect(answer.body.results).toMatchObject([{ status: 409, problem: { status: 409 } }])
    expect(await letters('&queue=stream')).not.toEqual([])
    await expect
      .poll(async () => {
        await sweep()
        return (await system.call('GET', `/v1/tasks/${id}`)).body.status
      }, PATIENCE)
      .toBe('succeeded')
  }, 240_000)

  /** Publishes a task, and loses the batch with its change as Lambda does once the records are 12 hours old. */
  async function publishUnplanned(key: string): Promise<string> {
    const mapping = system.cloud.mapping('Planner')
    const lost: StreamRecord[] = []
    mapping.drop(records => {
      const isChosen = JSON.stringify(records).includes(`word-count:${key}`)
      if (isChosen) lost.push(...(records as readonly StreamRecord[]))
      return isChosen
    })
    const id = await system.publish({ type: 'word-count', key, input: { text: 'a b' } })
    await expect.poll(() => lost.length, PATIENCE).toBeGreaterThan(0)
    mapping.drop(undefined)
    const message = failureMessage({
      records: lost,
      streamArn: mapping.sourceArn,
      shardId: 'shardId-00000000000000000000-00000000',
      functionArn: system.cloud.functions.find('Planner').arn,
      attempts: 9_000,
      condition: 'RecordAgeExceeded',
      requestId: 'r1',
      now: Date.now(),
    })
    const QueueUrl = queue('DeadLetters').physicalId
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(message) }))
    return id
  }
})
