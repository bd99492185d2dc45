import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'

/**
 * Writes the starter: a task, a flow, a stack, a test. `npm create baton-tasks` and `baton init` use it. A folder with a `cdk.json` already
 * has an app: it gets the tasks and their stack, but no second app, and its `package.json` gets what it lacks. No file is ever overwritten.
 */

type Scaffolded = {
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
const STACK = 'tasks-stack.ts'

/** @throws UnusableFolder when the folder that the program runs in is neither empty nor a CDK app, since the user named none. */
export function refuseUnnamed(folder: string, command: string): void {
  const present = namesIn(folder)
  if (present.length === 0 || present.includes('cdk.json')) return
  throw new UnusableFolder(
    `this folder has files and no CDK app; name a new one, as in: ${command} my-tasks (or . for this folder)`,
  )
}

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
  for (const { file, stored } of written) writeNewFile(join(target, file), templateText(stored, target))
  const manifest = own ? withMissing(own, starter) : { ...starter, name: packageName(target) }
  const isComplete = isDeepStrictEqual(manifest, own)
  if (!isComplete) writeNewFile(join(target, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
  return {
    ...{ folder: target, hadApp, scripts },
    written: [...written.map(({ file }) => file), ...(isComplete ? [] : [MANIFEST])],
    kept: [...kept.map(({ file }) => file), ...(isComplete ? [MANIFEST] : [])],
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
  try {
    return existsSync(folder) ? readdirSync(folder) : []
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
  const legal = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
  return legal.replace(/^[._-]+|-+$/g, '') || 'my-tasks'
}

/** The folder of the template. It is next to this file, in the repository and in the packages. */
const TEMPLATE = fileURLToPath(new URL('./template', import.meta.url))

type TemplateFile = { readonly file: string; readonly stored: string }

/** The files of the starter besides its manifest, each by its path in the project and in the template. */
function templateFiles({ test }: ScriptNames): TemplateFile[] {
  // Yarn runs this from an archive, where the entries of a folder do not know their parents.
  const names = readdirSync(TEMPLATE, { recursive: true, encoding: 'utf8' }).filter(
    file => file !== MANIFEST && statSync(join(TEMPLATE, file)).isFile(),
  )
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

function writeNewFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** What this program reads and writes of a `package.json`. */
type Manifest = {
  name?: string
  scripts?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** The names of the scripts that run the local system and the starter's test. */
type ScriptNames = { readonly dev: string; readonly test: string }

/** A package of the app in a version that Baton does not work with. */
type Outdated = { readonly name: string; readonly own: string; readonly needed: string }

/** The scripts of the starter that an app gets. Those that build and deploy are the app's own. */
const ADDED = ['dev', 'test'] as const

/** The path of the starter's test in an app that has another test runner. No runner takes a file of this name for one of its own. */
const TEST_BESIDE_OTHERS = 'test/order.node-test.ts'

/** Returns the names under which the starter's scripts run in the app: another one if the app uses the name for something else. */
function scriptNames(own: Manifest, starter: Manifest): ScriptNames {
  const [dev, test] = ADDED.map(name => {
    const present = own.scripts?.[name]
    return present === undefined || present === starter.scripts?.[name] ? name : `${name}:tasks`
  })
  return { dev: dev as string, test: test as string }
}

/** Adds scripts and packages that the app lacks. A package that the app has in any list keeps its version and its list. */
function withMissing(own: Manifest, starter: Manifest): Manifest {
  const installed = installedIn(own)
  const missing = (packages: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(packages).filter(([name]) => !Object.hasOwn(installed, name)))
  return {
    ...own,
    scripts: { ...addedScripts(own, starter), ...own.scripts },
    dependencies: { ...own.dependencies, ...missing(starter.dependencies) },
    devDependencies: { ...own.devDependencies, ...missing(starter.devDependencies) },
  }
}

function addedScripts(own: Manifest, starter: Manifest): Record<string, string> {
  const { dev, test } = scriptNames(own, starter)
  const [runDev = '', runTest = ''] = ADDED.map(name => starter.scripts?.[name])
  return { [dev]: runDev, [test]: test === 'test' ? runTest : `${runTest} ${TEST_BESIDE_OTHERS}` }
}

function installedIn({ dependencies, devDependencies }: Manifest): Record<string, string> {
  return { ...dependencies, ...devDependencies }
}

/** The packages of a project that Baton works with, each from this version on, and below the next major one. */
export const NEEDED: Readonly<Record<string, string>> = {
  'aws-cdk-lib': '2.276.0',
  constructs: '10.5.0',
  esbuild: '0.25.0',
  // The first version whose schemas are Standard Schemas. The starter writes what version 3 knows, too.
  zod: '3.25.0',
}

/** The packages of the app whose version is too old. A range that is not understood counts as new enough. */
function outdatedIn(own: Manifest): Outdated[] {
  const installed = installedIn(own)
  return Object.entries(NEEDED).flatMap(([name, needed]) => {
    const range = installed[name]
    return range !== undefined && isBelow(range, needed) ? [{ name, own: range, needed }] : []
  })
}

/** A range such as `^2.200.0`, which allows later minor versions, or one version such as `2.200.0` or `~2.200.0`. */
const RANGE = /^([~^]?)(\d+)(?:\.(\d+))?(?:\.(\d+))?$/

function isBelow(range: string, needed: string): boolean {
  const [, sign, ...own] = RANGE.exec(range.trim()) ?? []
  if (sign === undefined) return false
  const least = needed.split('.').map(Number)
  const mine = own.map(part => (part === undefined ? Number.POSITIVE_INFINITY : Number(part)))
  const allowed = sign === '^' ? [mine[0], ...laterThan(mine)] : mine
  return compare(allowed as number[], least) < 0
}

/** What a caret allows after the major version: everything, but with the major version 0 only later patches. */
function laterThan([major, minor = 0]: readonly number[]): number[] {
  return major === 0
    ? [minor, Number.POSITIVE_INFINITY]
    : [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((part, index) => part !== other[index])
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}

/** What the starter has written, and what to do next, as lines for a terminal. */
export function report(scaffolded: Scaffolded, cwd: string, manager: string): string {
  const { folder, written, kept, hadApp, scripts } = scaffolded
  const where = relative(cwd, folder)
  const enter = where === '' ? [] : [`  cd ${where}`]
  return [
    ...written.map(file => `wrote ${file}`),
    ...kept.map(file => `kept ${file}, which was there already`),
    '',
    ...(hadApp && written.includes(STACK) ? ADD_THE_STACK : []),
    ...remarks(scaffolded),
    'Next:',
    ...enter,
    `  ${manager} install`,
    `  ${manager} run ${scripts.test}`,
    `  ${manager} run ${scripts.dev}`,
    '',
    'The local system needs Java 17 or later on the PATH. The guides are in node_modules/baton-tasks/docs.',
  ].join('\n')
}

/** What an existing app has to change by itself, because no file of it is overwritten. */
function remarks({ outdated, keepsGenerated }: Scaffolded): string[] {
  const lines = [
    ...outdated.map(
      ({ name, own, needed }) =>
        `Update ${name} first: baton-tasks needs ${needed} or later, and ${own} is older.`,
    ),
    ...(keepsGenerated ? ['Add .baton/ to .gitignore: it holds generated files.'] : []),
  ]
  return lines.length === 0 ? [] : [...lines, '']
}

const ADD_THE_STACK = [
  'Create the stack in your CDK app:',
  "  import { TasksStack } from '../tasks-stack'   // in an ES module: '../tasks-stack.js'",
  "  new TasksStack(app, 'Tasks')",
  '',
]

/** The package manager that runs this program, by the variable that all of them set; npm without it. */
export function packageManager(userAgent: string | undefined): string {
  const name = /^(pnpm|yarn|bun|npm)\//.exec(userAgent ?? '')?.[1]
  return name ?? 'npm'
}
