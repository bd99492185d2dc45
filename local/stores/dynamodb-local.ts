import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { REGION } from '../account.ts'
import { newAccessKey } from '../data-folder/data-folder.ts'
import type { Answer, Call } from '../gateway/call.ts'
import { readBody } from '../gateway/gateway.ts'
import { isMeteredDynamoCall } from '../gateway/metering.ts'
import { type Java, spawnDynamoDb } from './dynamodb-process.ts'

/** DynamoDB Local starts in about 1.5 s; a busy machine may take several times that. */
const START_TIMEOUT_MS = 60_000
/** A store that does not answer a question about nothing within this time is down. */
const HEALTH_TIMEOUT_MS = 1_000

export type DynamoDbLocal = {
  /** Where it answers SDK clients that need no gateway. */
  readonly url: string
  /** With which they must sign: tables of one key are invisible to another. */
  readonly accessKey: string
  answer(call: Call): Promise<Answer>
  isUp(): Promise<boolean>
  stop(): Promise<void>
}

type StartSetting = {
  /** Keeps the tables in files there; without it they are in memory. */
  readonly dataDir?: string
  /** Made for this start when absent. */
  readonly accessKey?: string
  readonly log?: (line: string) => void
  /** Told, in one line, that the tables are gone or out of reach for good. */
  readonly onLost?: (reason: string) => void
}

/** Where the tables are. */
type Database = { readonly port: number; readonly accessKey: string }

/**
 * Starts DynamoDB Local on a free port. When it dies by itself it is started again on its files. Tables in memory are
 * lost then: an empty store in their place would lie, so the loss is told instead.
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
    if (dataDir === undefined) return onLost(`${reason}; it had its tables in memory, and they are lost`)
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

/** A database of its own in a DynamoDB Local that runs already, at this port: a second start takes seconds of a core. */
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

/** Whether the store answers in time. A store that hangs is asked one question only, however often its health is. */
function watchHealth(forward: Forward): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  return () => {
    asked ??= answers(forward).finally(() => {
      asked = undefined
    })
    return Promise.race([asked, sleep(HEALTH_TIMEOUT_MS, false, { ref: false })])
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

/** Callers sign with names of their own, by which the gateway tells them apart; here all are one. */
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

// Callers that do not ask for their units are metered all the same; the longer answer does them no harm.
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
