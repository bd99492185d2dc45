import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'

/** The parts of a `package.json` that are read here. */
type Manifest = {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly gypfile?: boolean
}

/** A package in a folder. The folder is its real one: pnpm links packages, and their dependencies lie beside the real folder. */
export type InstalledPackage = {
  readonly name: string
  readonly folder: string
  readonly manifest: Manifest
}

/** Returns the package `name` as code in `folder` would find it, or undefined. */
export function findPackage(name: string, folder: string): InstalledPackage | undefined {
  const found = join(folder, 'node_modules', name)
  if (existsSync(join(found, 'package.json'))) return readPackage(name, realpathSync(found))
  return dirname(folder) === folder ? undefined : findPackage(name, dirname(folder))
}

/** The packages that the projects around a folder name as their dependencies, without those for development. */
export function dependenciesOf(folder: string): string[] {
  const file = join(folder, 'package.json')
  const { dependencies = {} } = existsSync(file) ? readPackage('', folder).manifest : {}
  const names = Object.keys(dependencies)
  return dirname(folder) === folder ? names : [...names, ...dependenciesOf(dirname(folder))]
}

/** Returns the installed package that contains a file, or undefined for a file of the project itself. */
export function packageOf(file: string): InstalledPackage | undefined {
  const marker = `${sep}node_modules${sep}`
  const start = file.lastIndexOf(marker)
  if (start < 0) return undefined
  const parts = file.slice(start + marker.length).split(sep)
  const name = parts.slice(0, parts[0]?.startsWith('@') ? 2 : 1).join('/')
  const folder = join(file.slice(0, start), 'node_modules', name)
  return existsSync(join(folder, 'package.json')) ? readPackage(name, folder) : undefined
}

export function readPackage(name: string, folder: string): InstalledPackage {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  return { name, folder, manifest }
}

/** The paths of a package's own files, relative to its folder. */
export function filesOf(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const path = join(below, entry.name)
    if (!entry.isDirectory()) return [path]
    return entry.name === 'node_modules' ? [] : filesOf(folder, path)
  })
}

const LOCK_FILES = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock']

/**
 * The root of a project: the nearest folder above `folder` with a lock file, else the one with the app's `cdk.json`, else the working
 * directory. Package managers read their settings there.
 */
export function projectRootOf(folder: string): string {
  return nearest(folder, LOCK_FILES) ?? nearest(folder, ['cdk.json']) ?? process.cwd()
}

/** The text of the project's lock file. Empty without one. */
export function lockFileOf(root: string): string {
  const name = LOCK_FILES.find(one => existsSync(join(root, one)))
  return name === undefined ? '' : readFileSync(join(root, name), 'utf8')
}

/** The nearest folder, from `folder` upwards, that contains one of the files. */
export function nearest(folder: string, names: readonly string[]): string | undefined {
  if (names.some(name => existsSync(join(folder, name)))) return folder
  return dirname(folder) === folder ? undefined : nearest(dirname(folder), names)
}
