/** The `package.json` of a project with the starter: the starter's own, or that of an app with what it lacks. */

/** What this program reads and writes of a `package.json`. */
export type Manifest = {
  name?: string
  scripts?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** The names of the scripts that run the local system and the starter's test. */
export type ScriptNames = { readonly dev: string; readonly test: string }

/** A package of the app in a version that Baton does not work with. */
export type Outdated = { readonly name: string; readonly own: string; readonly needed: string }

/** The scripts of the starter that an app gets. Those that build and deploy are the app's own. */
const ADDED = ['dev', 'test'] as const

/** Where the starter's test stands in an app that has another test runner. No runner takes a file of this name for one of its own. */
export const TEST_BESIDE_OTHERS = 'test/order.node-test.ts'

/** Returns the names under which the starter's scripts run in the app: another one if the app uses the name for something else. */
export function scriptNames(own: Manifest, starter: Manifest): ScriptNames {
  const [dev, test] = ADDED.map(name => {
    const present = own.scripts?.[name]
    return present === undefined || present === starter.scripts?.[name] ? name : `${name}:tasks`
  })
  return { dev: dev as string, test: test as string }
}

/** Adds scripts and packages that the app lacks. A package that the app has in any list keeps its version and its list. */
export function withMissing(own: Manifest, starter: Manifest): Manifest {
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

/** Returns the packages of the app whose version is too old. A range that is not understood counts as new enough. */
export function outdatedIn(own: Manifest): Outdated[] {
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
