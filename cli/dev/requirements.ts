import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { openFolder } from '../../local/data-folder/data-folder.ts'
import { BatonError } from '../../shared/core/errors.ts'
import type { DevOptions } from '../dev.ts'

const JAVA_VERSION_MIN = 17

/**
 * Refuses a start that could not succeed, in a tenth of a second: the synthesis, which comes before the boot, takes seconds. Only the
 * synthesis knows the stacks, each of which has a folder in that of `--data`.
 *
 * @throws BatonError `misconfigured` when Java, the port or the data folder is missing.
 */
export async function refuseWithoutRequirements(options: Pick<DevOptions, 'port' | 'data'>): Promise<void> {
  await Promise.all([refuseOldJava(), refuseTakenPort(options.port)])
  if (options.data !== undefined) openFolder(options.data)
}

async function refuseOldJava(): Promise<void> {
  const version = await javaVersion()
  if (version >= JAVA_VERSION_MIN) return
  const found = version === 0 ? "there is no 'java' on the PATH" : `'java' on the PATH is version ${version}`
  throw new BatonError(
    'misconfigured',
    `DynamoDB Local needs Java ${JAVA_VERSION_MIN} or later, and ${found}: ${javaInstruction(process.platform)}`,
  )
}

function javaInstruction(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return 'brew install openjdk, and follow what it says about the PATH'
  return 'install a runtime, such as apt-get install default-jre-headless or dnf install java-latest-openjdk-headless'
}

/** The major version of the `java` on the PATH; 0 if there is none. */
async function javaVersion(): Promise<number> {
  try {
    const { stderr } = await promisify(execFile)('java', ['-version'])
    return Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0)
  } catch {
    return 0
  }
}

async function refuseTakenPort(port: number): Promise<void> {
  const server = createServer()
  const listening = Promise.withResolvers<void>()
  server.once('error', listening.reject).listen(port, '127.0.0.1', listening.resolve)
  try {
    await listening.promise
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${message})`
    throw new BatonError('misconfigured', `port ${port} ${problem}; choose another with --port, or 0 for any`)
  } finally {
    server.close()
  }
}
