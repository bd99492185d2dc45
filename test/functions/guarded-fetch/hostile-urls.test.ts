import { channel } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ResolveName, systemResolver } from '../../../functions/guarded-fetch/checked-addresses.ts'
import { webhookWith } from '../../../functions/tasks/webhook.ts'
import { wordCountWith } from '../../../functions/tasks/word-count.ts'
import type { WebhookSettings } from '../../../shared/core/types/task-type.ts'
import type { TaskContext, TaskDefinition } from '../../../shared/define/definitions.ts'
import { parsedInput } from '../../../shared/runtime/handler/handler.ts'
import { Fatal } from '../../../shared/signals.ts'
import { failureOf } from '../../support/failure-of.ts'
import { aReceiver, type TestReceiver } from '../../support/http/a-receiver.ts'
import { aTaskContext } from '../../support/tasks/a-task-context.ts'
import { HOSTILE_NAMES, HOSTILE_URLS, NOWHERE, resolved } from './hostile-urls.ts'

/** Calls a shipped handler with a hostile URL. */
type Caller = (url: string, how?: How) => Promise<unknown>
type How = { readonly allowPrivate?: boolean; readonly resolve?: ResolveName; readonly signal?: AbortSignal }

const callers: ReadonlyArray<readonly [string, Caller]> = [
  ['the shipped type webhook', (url, how) => callWebhook({ url }, {}, how)],
  ['a type of kind webhook', (url, how) => callWebhook({ order: 7 }, { url }, how)],
  [
    'the shipped type word-count',
    (url, { allowPrivate = false, resolve = systemResolver, ...over } = {}) =>
      run(wordCountWith({ allowPrivate, resolve, privateHint: 'nothing permits it' }), { url }, over),
  ],
]

function callWebhook(input: unknown, settings: WebhookSettings, how: How = {}): Promise<unknown> {
  const { resolve = systemResolver, allowPrivate = false, ...over } = how
  return run(webhookWith(resolve), input, { webhook: { ...settings, allowPrivate }, ...over })
}

/** Runs a definition on an input that it parses as the runtime does. */
async function run<Input, Parsed>(
  definition: TaskDefinition<Input, unknown, Parsed>,
  input: unknown,
  context: Partial<TaskContext> = {},
): Promise<unknown> {
  const parsed = await parsedInput(input, definition as TaskDefinition)
  return definition.run(parsed as Parsed, aTaskContext(context))
}

let receiver: TestReceiver
/** How many sockets this process has opened during the call of a hostile URL. */
let sockets = 0
const countSocket = () => void sockets++

beforeAll(async () => {
  receiver = await aReceiver((request, response) => {
    const [, status = '200', ...target] = request.url?.split('/') ?? []
    response.writeHead(Number(status) || 200, target.length > 0 ? { location: target.join('/') } : {})
    response.end('private')
  })
  channel('net.client.socket').subscribe(countSocket)
})

afterAll(async () => {
  channel('net.client.socket').unsubscribe(countSocket)
  await receiver?.stop()
})

describe.each(callers)('called by %s', (_name, call) => {
  it.each(HOSTILE_URLS)('%s is refused for good, and no connection is opened', async url => {
    sockets = 0

    const failure = await failureOf(call(url.replace('PORT', String(receiver.port))))

    expect(failure).toBeInstanceOf(Fatal)
    expect(sockets).toBe(0)
    expect(receiver.connections()).toBe(0)
  })

  it.each(HOSTILE_NAMES)('%s, which leads to %j, is refused for good', async (name, addresses) => {
    sockets = 0
    const resolve: ResolveName = async () => resolved(addresses)

    const failure = await failureOf(call(`http://${name}:${receiver.port}/`, { resolve }))

    expect(failure).toBeInstanceOf(Fatal)
    expect(failure.message).toContain(addresses.find(address => address !== NOWHERE))
    expect(sockets).toBe(0)
    expect(receiver.connections()).toBe(0)
  })
})

describe.each(callers)('called by %s, while another call may reach private addresses', (_name, call) => {
  it('a name that is public when it is checked and private afterwards is never looked up again', async () => {
    const answers = [[NOWHERE], ['127.0.0.1']]
    let asked = 0
    const resolve: ResolveName = async () => resolved(answers[asked++] ?? ['127.0.0.1'])
    const before = receiver.connections()

    await failureOf(call(`http://rebound.example:${receiver.port}/`, { resolve, signal: shortly() }))

    expect(asked).toBe(1)
    expect(await connectionsByNow()).toBe(before)
  })

  it('a call connects to the address that was checked', async () => {
    const answers = [['127.0.0.1'], [NOWHERE]]
    let asked = 0
    const resolve: ResolveName = async () => resolved(answers[asked++] ?? [NOWHERE])

    await call(`http://checked.example:${receiver.port}/`, { resolve, allowPrivate: true })

    expect(asked).toBe(1)
    expect(receiver.received.at(-1)?.headers.host).toBe(`checked.example:${receiver.port}`)
  })

  it('a forbidden call never uses the connection of a permitted call', async () => {
    const url = `http://reused.example:${receiver.port}/`
    const toPrivate: ResolveName = async () => resolved(['127.0.0.1'])
    await call(url, { resolve: toPrivate, allowPrivate: true })
    const connections = receiver.connections()

    const refused = await failureOf(call(url, { resolve: toPrivate }))
    const rebound: ResolveName = async () => resolved([NOWHERE])
    await failureOf(call(url, { resolve: rebound, signal: shortly() }))

    expect(refused).toBeInstanceOf(Fatal)
    expect(await connectionsByNow()).toBe(connections)
  })

  it('each call of a host opens its own connection', async () => {
    const before = receiver.connections()

    for (let nth = 0; nth < 3; nth++) await call(`${receiver.url}/`, { allowPrivate: true })

    expect(receiver.connections()).toBe(before + 3)
  })

  it.each([301, 302, 303, 307, 308])('a redirect with %i is a failure and is not followed', async status => {
    const elsewhere = await aReceiver()
    const target = `${elsewhere.url}/secret-path?token=hidden`

    const failure = await failureOf(call(`${receiver.url}/${status}/${target}`, { allowPrivate: true }))
    await elsewhere.stop()

    expect(failure.message).toContain(`answered ${status}, a redirect to ${elsewhere.url}, which is not`)
    expect(failure.message).not.toMatch(/secret-path|hidden/)
    expect(elsewhere.connections()).toBe(0)
  })

  it.each(['127.0.0.1', 'localhost', '127.1'])('%s can be called', async host => {
    const before = receiver.received.length

    await call(`http://${host}:${receiver.port}/`, { allowPrivate: true })

    expect(receiver.received).toHaveLength(before + 1)
  })

  it.each([
    'http://169.254.169.254/latest/',
    'http://[::ffff:169.254.169.254]/',
    'http://[fd00:ec2::254]/latest/',
    'http://100.100.100.200/latest/',
    'http://[fe80::1]/',
    'http://0.0.0.0/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
  ])('%s is refused all the same', async url => {
    sockets = 0

    const failure = await failureOf(call(url, { allowPrivate: true }))

    expect(failure).toBeInstanceOf(Fatal)
    expect(failure.message).toContain('never called, not even with allowPrivate')
    expect(sockets).toBe(0)
  })
})

/** Returns a signal that soon ends a call to an unreachable address. */
function shortly(): AbortSignal {
  return AbortSignal.timeout(200)
}

/** Returns how many connections the receiver has counted. The test opens one more, which comes last and is left out. */
async function connectionsByNow(): Promise<number> {
  const before = receiver.received.length
  await fetch(receiver.url, { headers: { connection: 'close' } })
  expect(receiver.received).toHaveLength(before + 1)
  return receiver.connections() - 1
}
