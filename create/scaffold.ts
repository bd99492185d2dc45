/**
 * Writes the starter: a task, a flow, a stack, a test. `npm create baton-tasks` and `baton init` use it. A folder with a `cdk.json`
 * already has an app: it gets the tasks and their stack, but no second app. No file is ever overwritten.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Scaffolded = {
  /** Absolute path of the folder. */
  readonly folder: string
  /** The files that were written, relative to the folder. */
  readonly written: readonly string[]
  /** The files of the starter that the folder had already. They are unchanged. */
  readonly kept: readonly string[]
  /** Whether the folder had a CDK app, which has to create the stack. */
  readonly hadApp: boolean
}

/** A folder that cannot be used. The message says why. */
export class UnusableFolder extends Error {
  override readonly name = 'UnusableFolder'
}

/**
 * Files with another path in the template than in the project: npm publishes no `.gitignore`, and checks of packages take a test for
 * one of the package.
 */
const STORED_AS: Readonly<Record<string, string>> = {
  '.gitignore': '_gitignore',
  'test/order.test.ts': 'order-tests.ts',
}

/** What an existing CDK app has of its own. */
const APP_FILES: ReadonlySet<string> = new Set([
  'app.ts',
  'cdk.json',
  'tsconfig.json',
  'README.md',
  '.gitignore',
])

const MANIFEST = 'package.json'

/** The scripts that call the new app. An existing app has its own. */
const APP_SCRIPTS: ReadonlySet<string> = new Set(['synth', 'deploy', 'check'])

/**
 * Writes the starter into `folder`, which is created when it is missing.
 *
 * @throws UnusableFolder when `folder` is a file, its `package.json` is not a JSON object, or it is a project without a `cdk.json`.
 */
export function scaffold(folder: string): Scaffolded {
  const target = resolve(folder)
  const present = namesIn(target)
  const hadApp = present.includes('cdk.json')
  if (!hadApp && present.includes(MANIFEST)) {
    throw new UnusableFolder(
      `${target} has a ${MANIFEST} but no cdk.json; give an empty folder, or one with a CDK app`,
    )
  }
  const manifest = manifestFor(target, hadApp)
  const files = templateFiles().filter(file => !(hadApp && APP_FILES.has(file)))
  const kept = files.filter(file => existsSync(join(target, file)))
  const written = files.filter(file => !kept.includes(file))
  for (const file of written) write(join(target, file), templateText(file, target))
  write(join(target, MANIFEST), manifest)
  return { folder: target, written: [...written, MANIFEST], kept, hadApp }
}

function namesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  try {
    return readdirSync(folder)
  } catch {
    throw new UnusableFolder(`${folder} is not a folder; give an empty folder, or one with a CDK app`)
  }
}

type Manifest = {
  name?: string
  scripts?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** The text of the project's manifest: the starter's, or the app's with the members that it lacks. */
function manifestFor(target: string, hadApp: boolean): string {
  const starter = JSON.parse(readFileSync(join(TEMPLATE, MANIFEST), 'utf8')) as Manifest
  const own = hadApp ? readManifest(join(target, MANIFEST)) : undefined
  const manifest = own ? withMissing(own, starter) : { ...starter, name: packageName(target) }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

function readManifest(file: string): Manifest | undefined {
  if (!existsSync(file)) return undefined
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read
  } catch {
    // The refusal below says what is wrong.
  }
  throw new UnusableFolder(`${file} is not a JSON object; mend it first`)
}

/** Adds scripts and packages that the app lacks. A package that the app has in any list keeps its version and its list. */
function withMissing(own: Manifest, starter: Manifest): Manifest {
  const installed = { ...own.dependencies, ...own.devDependencies }
  const missing = (packages: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(packages).filter(([name]) => !Object.hasOwn(installed, name)))
  const scripts = Object.entries(starter.scripts ?? {}).filter(([name]) => !APP_SCRIPTS.has(name))
  return {
    ...own,
    scripts: { ...Object.fromEntries(scripts), ...own.scripts },
    dependencies: { ...own.dependencies, ...missing(starter.dependencies) },
    devDependencies: { ...own.devDependencies, ...missing(starter.devDependencies) },
  }
}

/** A legal package name from the folder's name. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
  return name === '' ? 'my-tasks' : name
}

/** The folder of the template. It stands beside this file, in the repository and in the packages. */
const TEMPLATE = fileURLToPath(new URL('./template', import.meta.url))

/** The files of the starter besides its manifest, as the project names them. */
function templateFiles(): string[] {
  return readdirSync(TEMPLATE, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(TEMPLATE, join(entry.parentPath, entry.name)))
    .filter(file => file !== MANIFEST)
    .map(file => inProject.get(file) ?? file)
    .sort()
}

const inProject = new Map(Object.entries(STORED_AS).map(([project, stored]) => [stored, project]))

function templateText(file: string, target: string): string {
  const text = readFileSync(join(TEMPLATE, STORED_AS[file] ?? file), 'utf8')
  return file === 'README.md' ? text.replace('# my-tasks', `# ${packageName(target)}`) : text
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
