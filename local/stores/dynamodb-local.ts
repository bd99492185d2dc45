import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { REGION } from '../account.ts'
import { newAccessKey } from '../data-folder/data-folder.ts'
import type { Answer, Call } from '../gateway/call.ts'
import { readBody } from '../gateway/gateway.ts'
import { isMeteredDynamoCall } from '../gateway/metering.ts'
import { type Java, spawnDynamoDb } from './dynamodb-process.ts'

/** DynamoDB Local starts in about 1.5 s, and several times slower on a busy machine. */
const START_TIMEOUT_MS = 60_000
/** A store that does not answer an empty request within this time counts as down. */
const HEALTH_TIMEOUT_MS = 1_000

export type DynamoDbLocal = {
  /** The address for SDK clients that do not use the gateway. */
  readonly url: string
  /** The access key that clients must sign with: tables of one key are invisible to another. */
  readonly accessKey: string
  answer(call: Call): Promise<Answer>
  isUp(): Promise<boolean>
  stop(): Promise<void>
}

type StartSetting = {
  /** The folder of the tables' files. Without it the tables are in memory. */
  readonly dataDir?: string
  /** The access key. @default a new one */
  readonly accessKey?: string
  readonly log?: (line: string) => void
  /** Receives the reason, in one line, when the tables are lost or out of reach for good. */
  readonly onLost?: (reason: string) => void
}

/** The database of the tables. */
type Database = { readonly port: number; readonly accessKey: string }

/**
 * Starts DynamoDB Local on a free port. When it dies, it is restarted on its files. Tables in memory are lost when it dies: a restart
 * would serve an empty store, so it is not restarted, and `onLost` reports the loss.
 */
export async function startDynamoDbLocal(setting: StartSetting = {}): Promise<DynamoDbLocal> {
  const { dataDir, accessKey = newAccessKey(), log = () => {}, onLost = () => {} } = setting
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  let java = await spawnDynamoDb(dataDir)
  let stopping = false
  const forward = (call: Call) => forwardCall(call, { port: java.port, accessKey }, agent)
  const stop = async () => {
    stopping = true
    agent.destroy()
    await java.kill()
  }

  async function watch(): Promise<void> {
    const reason = await java.ended
    if (stopping) return
    if (dataDir === undefined) return onLost(`${reason}; its tables were in memory and are lost`)
    log(`${reason}; it is started again on ${dataDir}`)
    try {
      const next = await spawnDynamoDb(dataDir)
      java = next
      if (stopping) return void (await next.kill())
      await untilReady(next, forward)
      log('DynamoDB Local answers again')
    } catch (cause) {
      if (!stopping) onLost(`DynamoDB Local has ended and does not start again: ${(cause as Error).message}`)
      return
    }
    return watch()
  }

  try {
    await untilReady(java, forward)
  } catch (cause) {
    await stop()
    throw cause
  }
  void watch()
  const url = `http://127.0.0.1:${java.port}`
  return { url, accessKey, answer: forward, isUp: watchHealth(forward), stop }
}

/** Uses a database of its own in the DynamoDB Local at this port. A second process would take seconds of a core to start. */
export function joinDynamoDbLocal(port: number, accessKey = newAccessKey()): DynamoDbLocal {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const forward = (call: Call) => forwardCall(call, { port, accessKey }, agent)
  return {
    url: `http://127.0.0.1:${port}`,
    accessKey,
    answer: forward,
    isUp: watchHealth(forward),
    stop: async () => agent.destroy(),
  }
}

type Forward = (call: Call) => Promise<Answer>

async function untilReady(java: Java, forward: Forward) {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadline) {
    const failure = java.failure()
    if (failure) throw new Error(failure)
    if (await answers(forward)) return
    await sleep(25)
  }
  throw new Error(`DynamoDB Local did not answer within ${START_TIMEOUT_MS} ms`)
}

async function answers(forward: Forward): Promise<boolean> {
  const answered = await forward(listTables).catch(() => undefined)
  return answered?.status === 200
}

/** Whether the store answers in time. A store that hangs gets one request only, however often its health is checked. */
function watchHealth(forward: Forward): () => Promise<boolean> {
  let pending: Promise<boolean> | undefined
  return () => {
    pending ??= answers(forward).finally(() => {
      pending = undefined
    })
    return Promise.race([pending, sleep(HEALTH_TIMEOUT_MS, false, { ref: false })])
  }
}

const listTables: Call = {
  caller: 'local',
  service: 'dynamodb',
  operation: 'ListTables',
  method: 'POST',
  path: '/',
  headers: {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': 'DynamoDB_20120810.ListTables',
  },
  body: Buffer.from('{}'),
}

/** The gateway tells callers apart by their access keys. The store gets the same key for all of them. */
function forwardCall(call: Call, { port, accessKey }: Database, agent: Agent): Promise<Answer> {
  const body = isMeteredDynamoCall(call) ? askForCapacity(call.body) : call.body
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': String(call.headers['x-amz-target']),
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/${REGION}/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
    'content-length': body.length,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port, method: 'POST', path: '/', headers, agent },
      incoming => {
        readAnswer(incoming).then(resolve, reject)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

// Every request asks for the consumed units, so that each caller is metered. The longer answer does no harm.
function askForCapacity(body: Buffer) {
  if (body.includes('"ReturnConsumedCapacity"')) return body
  return Buffer.concat([Buffer.from('{"ReturnConsumedCapacity":"INDEXES",'), body.subarray(1)])
}

async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  const body = await readBody(incoming)
  const headers: Record<string, string> = {}
  for (const name of ['content-type', 'x-amz-crc32', 'x-amzn-requestid']) {
    const value = incoming.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  return { status: incoming.statusCode ?? 500, headers, body }
}
