/**
 * Writes the starter: a task, a flow, a stack, a test. `npm create baton-tasks` and `baton init` use it. A folder with a `cdk.json`
 * already has an app: it gets the tasks and their stack, but no second app. No file is ever overwritten. `manifest.ts` completes the
 * app's `package.json`.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Manifest,
  type Outdated,
  outdatedIn,
  type ScriptNames,
  scriptNames,
  TEST_BESIDE_OTHERS,
  withMissing,
} from './manifest.ts'

export type Scaffolded = {
  /** Absolute path of the folder. */
  readonly folder: string
  /** The files that were written, relative to the folder. */
  readonly written: readonly string[]
  /** The files of the starter that the folder had already. They are unchanged. */
  readonly kept: readonly string[]
  /** Whether the folder had a CDK app, which has to create the stack. */
  readonly hadApp: boolean
  readonly scripts: ScriptNames
  /** The packages of the app that are too old for Baton. */
  readonly outdated: readonly Outdated[]
  /** Whether version control may take `.baton/`, the folder of generated files, for a part of the project. */
  readonly keepsGenerated: boolean
}

/** A folder that cannot be used. The message says why. */
export class UnusableFolder extends Error {
  override readonly name = 'UnusableFolder'
}

/**
 * Files with another path in the template than in the project: npm publishes no `.gitignore`, and checks of packages take a test for
 * one of the package.
 */
const TEST = 'order-tests.ts'
const IN_PROJECT: Readonly<Record<string, string>> = {
  _gitignore: '.gitignore',
  [TEST]: 'test/order.test.ts',
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
  const starter = JSON.parse(readFileSync(join(TEMPLATE, MANIFEST), 'utf8')) as Manifest
  const own = hadApp ? readManifest(join(target, MANIFEST)) : undefined
  const scripts = scriptNames(own ?? {}, starter)
  const files = templateFiles(scripts).filter(({ file }) => !(hadApp && APP_FILES.has(file)))
  const kept = files.filter(({ file }) => existsSync(join(target, file)))
  const written = files.filter(one => !kept.includes(one))
  for (const { file, stored } of written) write(join(target, file), templateText(stored, target))
  const manifest = own ? withMissing(own, starter) : { ...starter, name: packageName(target) }
  write(join(target, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
  return {
    ...{ folder: target, hadApp, scripts },
    written: [...written.map(({ file }) => file), MANIFEST],
    kept: kept.map(({ file }) => file),
    outdated: outdatedIn(own ?? {}),
    keepsGenerated: keepsGenerated(target),
  }
}

/** A folder without a `.gitignore` may be a part of a repository that has one further up. */
function keepsGenerated(target: string): boolean {
  const file = join(target, '.gitignore')
  return existsSync(file) && !/^\/?\.baton\b/m.test(readFileSync(file, 'utf8'))
}

function namesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  try {
    return readdirSync(folder)
  } catch {
    throw new UnusableFolder(`${folder} is not a folder; give an empty folder, or one with a CDK app`)
  }
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

type TemplateFile = { readonly file: string; readonly stored: string }

/** The files of the starter besides its manifest, each by its path in the project and in the template. */
function templateFiles({ test }: ScriptNames): TemplateFile[] {
  const names = readdirSync(TEMPLATE, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(TEMPLATE, join(entry.parentPath, entry.name)))
    .filter(file => file !== MANIFEST)
  const paths: Readonly<Record<string, string>> = {
    ...IN_PROJECT,
    ...(test !== 'test' && { [TEST]: TEST_BESIDE_OTHERS }),
  }
  return names.map(stored => ({ stored, file: paths[stored] ?? stored })).sort(byPath)
}

function byPath(one: TemplateFile, other: TemplateFile): number {
  return one.file < other.file ? -1 : 1
}

function templateText(stored: string, target: string): string {
  const text = readFileSync(join(TEMPLATE, stored), 'utf8')
  return stored === 'README.md' ? text.replace('# my-tasks', `# ${packageName(target)}`) : text
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
