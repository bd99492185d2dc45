import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { BatonError } from '../../../shared/core/errors.ts'

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
  if (moduleUrl.endsWith('.ts')) {
    return { node: process.execPath, main: fileURLToPath(new URL('../main.ts', moduleUrl)) }
  }
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
