/**
 * Where things lie on the disk: generated files, the files of this package, the packages that a project has installed, and those that
 * are fetched for another platform.
 */

import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { illegal } from '../../shared/core/values/values.ts'

/** The folder of generated files, below the working directory and outside version control. */
const FOLDER = '.baton'

export function generatedFile(...path: string[]): string {
  return resolve(join(FOLDER, ...path))
}

/** Writes `file` if its text has changed. The write is atomic, because several syntheses may run at the same time. */
export function writeGenerated(file: string, text: string): void {
  if (readIfThere(file) === text) return
  fs.mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}`
  fs.writeFileSync(draft, text)
  fs.renameSync(draft, file)
}

/** The specifier by which the generated file `from` imports `file`. It is relative, so that bundles do not depend on the project's path. */
export function specifier(from: string, file: string): string {
  const path = relative(dirname(from), file).split(sep).join('/')
  return JSON.stringify(path.startsWith('.') ? path : `./${path}`)
}

function readIfThere(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** The code of this package that users' code is bundled with: the executor of a Lambda handler, the worker of a container. */
export function runtimeModule(name: 'executor' | 'worker'): string {
  return prebuilt(name) ?? sourceFile(`${name}.ts`)
}

/** The absolute path of the prebuilt bundle of a function, or undefined in this repository, which bundles it from source. */
export function prebuilt(name: string): string | undefined {
  const file = sourceFile(`${name}/index.mjs`)
  return fs.existsSync(file) ? file : undefined
}

/** The absolute path of a file in `functions/`, wherever this package is installed. */
export function sourceFile(name: string): string {
  return fileURLToPath(new URL(`../../functions/${name}`, import.meta.url))
}

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

/** A package in a folder. The folder is its real one: pnpm links packages, and their dependencies are next to the real folder. */
export type InstalledPackage = {
  readonly name: string
  readonly folder: string
  readonly manifest: Manifest
}

/** Returns the package `name` as code in `folder` would find it, or undefined. */
export function findPackage(name: string, folder: string): InstalledPackage | undefined {
  const found = join(folder, 'node_modules', name)
  if (fs.existsSync(join(found, 'package.json'))) return readPackage(name, fs.realpathSync(found))
  return dirname(folder) === folder ? undefined : findPackage(name, dirname(folder))
}

/** The packages that the projects around a folder name as their dependencies, without those for development. */
export function dependenciesOf(folder: string): string[] {
  const file = join(folder, 'package.json')
  const { dependencies = {} } = fs.existsSync(file) ? readPackage('', folder).manifest : {}
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
  return fs.existsSync(join(folder, 'package.json')) ? readPackage(name, folder) : undefined
}

function readPackage(name: string, folder: string): InstalledPackage {
  const manifest = JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  return { name, folder, manifest }
}

/** The paths of a package's own files, relative to its folder. */
export function filesOf(folder: string, below = ''): string[] {
  return fs.readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
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
function projectRootOf(folder: string): string {
  return nearest(folder, LOCK_FILES) ?? nearest(folder, ['cdk.json']) ?? process.cwd()
}

/** The text of the project's lock file. Empty without one. */
function lockFileOf(root: string): string {
  const name = LOCK_FILES.find(one => fs.existsSync(join(root, one)))
  return name === undefined ? '' : fs.readFileSync(join(root, name), 'utf8')
}

/** The nearest folder, from `folder` upwards, that contains one of the files. */
export function nearest(folder: string, names: readonly string[]): string | undefined {
  if (names.some(name => fs.existsSync(join(folder, name)))) return folder
  return dirname(folder) === folder ? undefined : nearest(dirname(folder), names)
}

type FetchSpec = {
  readonly name: string
  /** An exact version. */
  readonly version: string
  /** A folder of the project. Its root has the settings of the registry. */
  readonly from: string
  /** What the package is for, and which package needs it, in errors. */
  readonly title: string
  readonly by: string
}

/**
 * Returns a package that is not installed, because it holds the build for another platform. It is fetched once with `npm pack` from
 * the project's registry, whichever package manager the project uses, and kept in `.baton/packages`, so that the next synthesis needs
 * no network. If the lock file has a SHA-512 hash for it, its content must have that hash.
 *
 * @throws BatonError `invalid` when it cannot be fetched, or differs from the lock file.
 */
export function fetchPackage(spec: FetchSpec): InstalledPackage {
  const { name, version } = spec
  refuseInexact(spec)
  const folder = generatedFile('packages', `${name.replace('/', '+')}@${version}`)
  if (!fs.existsSync(join(folder, 'package.json'))) fetchTo(folder, spec)
  return readPackage(name, folder)
}

/** A range or a URL could give another package tomorrow, and would be a path of its own below `.baton/packages`. */
function refuseInexact({ title, by, name, version }: FetchSpec): void {
  if (/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return
  throw illegal(
    `${title}: '${by}' needs ${name}@${version} for the function's platform, which is not installed; only an exact version can be ` +
      'fetched: install the package for that platform, too',
  )
}

/** The last step is a rename, so two syntheses at a time both find whole folders. */
function fetchTo(folder: string, spec: FetchSpec): void {
  fs.mkdirSync(dirname(folder), { recursive: true })
  const draft = fs.mkdtempSync(`${folder}.`)
  try {
    const packed = pack(draft, spec)
    refuseOther(spec, packed)
    execFileSync('tar', ['-xzf', join(draft, packed.file), '-C', draft, '--strip-components=1'])
    fs.rmSync(join(draft, packed.file))
    if (!fs.existsSync(folder)) fs.renameSync(draft, folder)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

type Packed = { readonly file: string; readonly integrity: string }

function pack(draft: string, spec: FetchSpec): Packed {
  const root = projectRootOf(spec.from)
  const wanted = `${spec.name}@${spec.version}`
  try {
    const answer = execFileSync(
      'npm',
      ['pack', '--json', '--pack-destination', draft, ...registryOf(root), '--', wanted],
      { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const [{ integrity = '' } = {}] = JSON.parse(answer) as Array<{ integrity?: string }>
    const file = fs.readdirSync(draft).find(name => name.endsWith('.tgz')) ?? ''
    return { file, integrity }
  } catch (cause) {
    const reason = npmFailure(cause as NpmFailure)
    throw illegal(
      `${spec.title}: '${spec.by}' needs ${wanted} for the function's platform, which is not installed and could not be fetched (${reason}); ` +
        'synthesise once with access to the registry, or install the package for that platform, too',
      { cause },
    )
  }
}

type NpmFailure = { readonly stderr?: string | null; readonly message?: string }

/** Why npm failed, in one line: the first that says more than a code. `message` is the reason when npm itself did not start. */
export function npmFailure({ stderr, message = 'npm failed' }: NpmFailure): string {
  const lines = (stderr ?? '').split('\n').filter(line => /^npm (error|ERR!)/.test(line))
  return lines.find(line => !/^npm \S+ code /.test(line)) ?? lines[0] ?? message
}

/** Yarn's own settings are the only ones that npm does not read. */
function registryOf(root: string): string[] {
  const settings = join(root, '.yarnrc.yml')
  if (!fs.existsSync(settings)) return []
  const server = /^npmRegistryServer: *["']?([^"'\s]+)/m.exec(fs.readFileSync(settings, 'utf8'))?.[1]
  return server === undefined ? [] : ['--registry', server]
}

function refuseOther({ title, name, version, from }: FetchSpec, { integrity }: Packed): void {
  const locked = lockedIntegrity(lockFileOf(projectRootOf(from)), name, version)
  if (locked === undefined || locked === integrity) return
  throw illegal(
    `${title}: the registry's ${name}@${version} is ${integrity}, and the lock file has ${locked}`,
  )
}

/** The hash of a package in the text of a lock file of npm, pnpm, or Yarn 1. Undefined if the file does not have it. */
export function lockedIntegrity(lockFile: string, name: string, version: string): string | undefined {
  const [of, at] = [name, version].map(text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const inNpm = `node_modules/${of}": \\{[^{}]*?"version": "${at}"[^{}]*?"integrity": "(sha512-[^"]+)"`
  const inOthers = `${of}@${at}['"]?:\\n[^]{0,400}?integrity:? ["']?(sha512-[^\\s"',}]+)`
  return new RegExp(inNpm).exec(lockFile)?.[1] ?? new RegExp(inOthers).exec(lockFile)?.[1]
}
