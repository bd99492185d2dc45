import { execFile } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { join, relative, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { dataIn, holdsData, openFolder } from '../../local/data-folder.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import type { DevOptions } from './command/dev-command.ts'
import type { Project } from './synthesis/synthesis.ts'
import type { System } from './synthesis/systems.ts'
import { isWithin } from './watch/watch.ts'

const JAVA_VERSION_MIN = 17

/**
 * Refuses a start that could not succeed, in a tenth of a second: the synthesis, which comes before the boot, takes seconds. Only the
 * synthesis knows the stacks, each of which has a folder within `--data`.
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
  if (platform === 'darwin') return 'brew install openjdk, and follow its advice about the PATH'
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
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${message})`
    throw new BatonError('misconfigured', `port ${port} ${problem}; choose another with --port, or 0 for any`)
  } finally {
    server.close()
  }
}

/**
 * Keeps a second `baton dev` out of a project: it would remove the bundles and the assembly that the first one runs from. The lock is
 * a file with the id of the process. A file whose process has ended is taken over. Returns the function that removes the lock.
 *
 * @throws BatonError `misconfigured` when another process holds the lock.
 */
export function lockProject({ folder, generated }: Pick<Project, 'folder' | 'generated'>): () => void {
  const file = join(generated, 'dev.lock')
  fs.mkdirSync(generated, { recursive: true })
  const holder = holderOf(file)
  if (holder === undefined) fs.rmSync(file, { force: true })
  if (holder !== undefined || !create(file)) throw refusal(folder, file, holder ?? holderOf(file))
  const unlock = () => {
    process.off('exit', unlock)
    if (pidIn(file) === process.pid) fs.rmSync(file, { force: true })
  }
  // A second signal ends the process without an orderly stop.
  process.once('exit', unlock)
  return unlock
}

/** Returns whether no other process was faster. */
function create(file: string): boolean {
  try {
    fs.writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

function refusal(folder: string, file: string, holder: number | undefined): BatonError {
  const text = `baton dev already runs in ${folder} (process ${holder}); end it first, or remove ${file} if that is another program`
  return new BatonError('misconfigured', text)
}

/** The other process that holds the lock, if it is alive. A container may give this process the id of an earlier one. */
function holderOf(file: string): number | undefined {
  const pid = pidIn(file)
  return pid !== undefined && pid !== process.pid && isAlive(pid) ? pid : undefined
}

function pidIn(file: string): number | undefined {
  try {
    const pid = Number(fs.readFileSync(file, 'utf8'))
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

/** A process of another user is alive, too, though this user may send it no signal. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * The folder of `--data`. Each stack has a folder in it, named after the stack. So a stack finds its data whatever other stacks the
 * app has, and in whatever order.
 */

type Named = Pick<System, 'stackName'>

/** The folder that keeps the data of a stack. */
export function dataFolderOf(data: string, { stackName }: Named): string {
  return join(data, stackName)
}

/**
 * Refuses a folder that would lose data or mix it with other files: one of an earlier version, which kept the first stack's data in
 * the folder itself, and one in which a stack's folder holds something else.
 *
 * @throws BatonError `misconfigured` that names the files, and what to do with them.
 */
export function refuseForeignData(data: string | undefined, systems: readonly Named[]): void {
  if (data === undefined) return
  const [first] = systems
  if (first && holdsData(data)) throw olderLayout(data, dataFolderOf(data, first))
  for (const system of systems) {
    const folder = dataFolderOf(data, system)
    if (!holdsOtherFiles(folder)) continue
    throw new BatonError(
      'misconfigured',
      `--data ${data} would keep the data of ${system.stackName} in ${folder}, which holds other files; give another folder`,
    )
  }
}

function holdsOtherFiles(folder: string): boolean {
  return fs.existsSync(folder) && !holdsData(folder) && fs.readdirSync(folder).length > dataIn(folder).length
}

function olderLayout(data: string, folder: string): BatonError {
  const paths = dataIn(data)
    .map(name => join(data, name))
    .join(' ')
  return new BatonError(
    'misconfigured',
    `--data ${data} holds the data of an earlier version, which kept the data of the first stack in the folder itself; move them once: mkdir -p ${folder} && mv ${paths} ${folder}/`,
  )
}

/**
 * Returns whether a folder is not watched because `--data` keeps state in it, which changes with each task. That is the whole folder
 * of `--data`, unless it also contains a watched folder, as `--data .` does. Then it is the folder of each stack.
 */
export function isDataFolder(
  data: string | undefined,
  from: string,
  watched: readonly string[],
): (folder: string) => boolean {
  if (data === undefined) return () => false
  const given = resolve(from, data)
  const root = fs.existsSync(given) ? fs.realpathSync(given) : given
  if (!watched.some(folder => isWithin(folder, root))) return folder => isWithin(folder, root)
  return folder => {
    const [name] = relative(root, folder).split(sep)
    return name !== undefined && name !== '' && name !== '..' && holdsData(join(root, name))
  }
}
