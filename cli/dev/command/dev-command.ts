import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Option } from 'commander'
import { BatonError } from '../../../shared/core/values/values.ts'
import { type DefineCommand, repeated, wholeNumber } from '../../terminal/command.ts'

/** The options of `baton dev`, as they are given to the process that runs it. */
export type DevOptions = {
  /** The port of the first stack's API. Each further stack takes the next one. 0 takes any free one. */
  readonly port: number
  /** The folder that keeps the state. Without it everything is in memory. */
  readonly data?: string
  /** A task type, and the port for its debugger: `resize` or `resize:9230`. */
  readonly inspect?: string
  readonly allowHost: readonly string[]
  /** `iam`: the HTTP API demands signatures, as the deployed one does. */
  readonly auth?: 'iam'
  readonly verbose: boolean
  /** The folder of the built dashboard. Without it the system has none. */
  readonly dashboard?: string
}

const DEFAULT_PORT = 7070
const PORT_MAX = 65_535

/**
 * `baton dev`. The local system needs Node 24 and parts that a deployed app does not, so it is a package of its own. This file
 * runs on any supported Node: it finds that package, and runs it in a process with the package's own Node.
 */
export const dev: DefineCommand = command => {
  const port = new Option('--port <n>', 'port of the HTTP API; 0 takes a free one')
  command
    .addOption(port.env('PORT').default(DEFAULT_PORT).argParser(wholeNumber(0, PORT_MAX)))
    .option('--data <dir>', 'keeps tasks, queues and schedules in this folder (default: in memory)')
    .option(
      '--inspect <type[:port]>',
      'opens a debugger port in the handler of this type (default port: 9229)',
    )
    .option(
      '--allow-host <name>',
      'accepts calls under this host name, too; may be repeated (also: BATON_ALLOWED_HOSTS)',
      repeated,
    )
    .addOption(
      new Option('--auth <kind>', 'iam: the HTTP API demands signed calls, as the deployed one does').choices(
        ['iam'],
      ),
    )
    .option('--verbose', 'shows every line that functions and workers log')
    .action(async (given: Partial<DevOptions> & Pick<DevOptions, 'port'>) => {
      process.exitCode = await runLocally({ ...given, ...complete(given), ...builtDashboard() })
    })
}

function complete({ verbose = false, allowHost = [] }: Partial<DevOptions>) {
  return { verbose, allowHost: [...allowHost, ...hostsOfEnvironment()] }
}

/** The dashboard is a folder of this package. A checkout of the repository has it only after a build. */
function builtDashboard(): Pick<DevOptions, 'dashboard'> {
  const folder = fileURLToPath(new URL('../../../dashboard', import.meta.url))
  return existsSync(folder) ? { dashboard: folder } : {}
}

/** The host names in `BATON_ALLOWED_HOSTS`, which commas separate. */
export function hostsOfEnvironment(): string[] {
  const named = (process.env.BATON_ALLOWED_HOSTS ?? '').split(',').map(host => host.trim())
  return named.filter(host => host !== '')
}

/** Runs the local system in its own process until it ends, and returns its exit code. */
async function runLocally(options: DevOptions): Promise<number> {
  const { node, main } = await findLocalSystem(import.meta.url, process.cwd())
  const child = spawn(node, [main, JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A process group of its own: a Ctrl-C reaches only this process, which passes it on once. The system ends when the channel
    // to this process closes, so it never outlives it.
    detached: true,
  })
  return passOnSignals(child)
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function passOnSignals(child: ChildProcess): Promise<number> {
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
}

/** The local system as a program: its main file, and the Node that runs it. */
export type LocalSystem = { readonly node: string; readonly main: string }

const PACKAGE = 'baton-tasks-local'

type LocalManifest = { readonly version: string; readonly baton: { readonly main: string } }

/**
 * Finds the local system. In this repository it stands beside the module; otherwise it is a package that the project has installed,
 * or that is installed beside this one.
 *
 * @throws BatonError `misconfigured` when the package is not installed, or is not of the version of this package: the local system
 * runs the constructs and functions of this package, and both may change together in any version.
 */
export async function findLocalSystem(moduleUrl: string, folder: string): Promise<LocalSystem> {
  if (moduleUrl.endsWith('.ts'))
    return { node: process.execPath, main: fileURLToPath(new URL('../main.ts', moduleUrl)) }
  const manifest = manifestFrom(join(folder, 'package.json')) ?? manifestFrom(fileURLToPath(moduleUrl))
  if (manifest === undefined) {
    const message = `baton dev needs the package ${PACKAGE}: npm install --save-dev ${PACKAGE}`
    throw new BatonError('misconfigured', message)
  }
  const { baton, version } = readJson<LocalManifest>(manifest)
  refuseOtherVersion(version, moduleUrl)
  const runtime = pathToFileURL(join(dirname(manifest), 'node-runtime.js'))
  const { nodeBinary } = (await import(runtime.href)) as { nodeBinary(): string }
  return { node: nodeBinary(), main: join(dirname(manifest), baton.main) }
}

function refuseOtherVersion(local: string, moduleUrl: string): void {
  const { version } = readJson<{ readonly version: string }>(
    fileURLToPath(new URL('../../../package.json', moduleUrl)),
  )
  if (local === version) return
  throw new BatonError(
    'misconfigured',
    `${PACKAGE} has version ${local} and baton-tasks has ${version}, but both must be the same: npm install --save-dev ${PACKAGE}@${version}`,
  )
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T
}

function manifestFrom(file: string): string | undefined {
  try {
    return createRequire(file).resolve(`${PACKAGE}/package.json`)
  } catch {
    return undefined
  }
}
