/** How esbuild is run: its options, the bundles of the synthesis, and the parts that `baton dev` shares, which bundles again and again. */

import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import type { BuildOptions, Loader, Message, Metafile } from 'esbuild'
import { defined, illegal } from '../../shared/core/values/values.ts'
import { sourceFile } from './places.ts'

/** How a handler's code is bundled. The names are the same as in CDK's `NodejsFunction`. */
export type BundlingProps = {
  /**
   * Packages that are not bundled but copied into the asset with all that they need, such as `sharp`. A native package is
   * copied in its Linux build for the function's architecture, whatever machine synthesises. An optional peer of a package is copied
   * only if the project names it in its `dependencies`, or here.
   * @default none
   */
  readonly nodeModules?: readonly string[]
  /**
   * Packages that are neither bundled nor copied, because a layer, the runtime or the image has them; `*` stands for any text, as in
   * `@aws-sdk/*`. The synthesis loads them from the project.
   * @default none
   */
  readonly externalModules?: readonly string[]
  /** How files are read, by their extension, such as `{ '.html': 'text' }`. @default as esbuild reads them */
  readonly loader?: Readonly<Record<string, Loader>>
  /** Constants that replace names in the code, as JavaScript, such as `{ 'process.env.STAGE': '"live"' }`. @default none */
  readonly define?: Readonly<Record<string, string>>
  /** @default true */
  readonly minify?: boolean
  /** Whether the asset has a source map, so that stack traces name your files. @default true */
  readonly sourceMap?: boolean
  /** The language level that the code is compiled to. @default 'node24' */
  readonly target?: string
  /** The compiler settings for all files. @default the `tsconfig.json` nearest to each file */
  readonly tsconfig?: string
}

/**
 * Gives an ES module bundle a `require`, with which its CommonJS packages load Node's own modules. esbuild does not know the names in
 * this text, so the name of the import must be one that bundled code does not use.
 */
function requireNamed(name: string, from = 'import.meta.url') {
  return { js: `import{createRequire as ${name}}from'node:module';const require=${name}(${from});` }
}

/**
 * The banner of a library, which users bundle again, often as CommonJS, where `import.meta.url` is undefined. Its packages are inside, so
 * it loads only Node's own modules, which every path finds.
 */
export const LIBRARY_BANNER = requireNamed('batonCreateRequire', 'process.execPath')

/**
 * The options of every bundle. A bundle includes the AWS SDK, because the runtime's SDK is older than the pinned one. It
 * contains only what its code uses. esbuild reports problems by its answer, so it writes nothing itself.
 */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  banner: requireNamed('batonCreateRequire'),
  minify: true,
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'silent',
} as const satisfies BuildOptions

/** The options for the system's own functions: they leave out parts of the SDK that these functions never use. */
export const SYSTEM_OPTIONS: BuildOptions = {
  ...BUNDLE_OPTIONS,
  alias: {
    '@aws-sdk/credential-provider-node': sourceFile('stand-ins/lambda-credentials.ts'),
    '@aws-sdk/endpoint-cache': sourceFile('stand-ins/no-endpoint-cache.ts'),
    '@smithy/core/event-streams': sourceFile('stand-ins/no-event-streams.ts'),
  },
}

/** Files in `functions/` that are next to the bundle of a function of the system, which reads them while it runs. */
export const FILES_BESIDE: Readonly<Record<string, readonly string[]>> = { api: ['http/openapi.json'] }

/** The condition of `exports` under which a handler's bundle gets definitions that are not checked again. */
export const HANDLER_CONDITION = 'baton-handler'

/**
 * The options for users' code that runs in a function or in a container. The synthesis has loaded its definitions before, with
 * `optionsOf`, and has refused wrong ones.
 */
export function runnableOptionsOf(props: BundlingProps = {}): BuildOptions {
  // esbuild knows the condition `module` only where no others are given.
  return { ...optionsOf(props), conditions: ['module', HANDLER_CONDITION] }
}

/** The options for users' code, as JSON. `entryPoints` and `outfile` are missing. */
export function optionsOf(props: BundlingProps = {}): BuildOptions {
  const { nodeModules = [], externalModules = [], tsconfig } = props
  const { loader, define, minify, sourceMap: sourcemap, target } = props
  const given = defined({ loader, define, minify, sourcemap, target })
  return {
    ...BUNDLE_OPTIONS,
    // A handler's bundle contains the executor, which is prebuilt with the other name.
    banner: requireNamed('batonRequireForHandler'),
    ...(given as BuildOptions),
    external: [...nodeModules, ...externalModules],
    ...(tsconfig !== undefined && { tsconfig: resolve(tsconfig) }),
  }
}

export type Bundle = {
  /** The files to write, by their paths below the folder of the bundle. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly contents: Uint8Array }>
  /** The absolute paths of all files that the bundle was made from. */
  readonly inputs: readonly string[]
}

/**
 * Bundles in memory with the project's esbuild, or else the one that is installed next to this package. `title` names the code in
 * errors.
 *
 * @throws BatonError `invalid` when there is no esbuild, or when it refuses the code. The message has file, line and column.
 */
export function bundle(title: string, options: BuildOptions): Bundle {
  const key = JSON.stringify(options)
  const known = made.get(key)
  if (known && isUnchanged(known.stamps)) return known.bundle
  const result = bundleAnew(title, options)
  made.set(key, { bundle: result, stamps: new Map(result.inputs.map(path => [path, stampOf(path)])) })
  return result
}

/** What this process has bundled. The stages of an app often contain the same functions. */
const made = new Map<string, { readonly bundle: Bundle; readonly stamps: Stamps }>()

function bundleAnew(title: string, options: BuildOptions): Bundle {
  const { outputFiles, metafile } = build(title, options)
  const folder = dirname(options.outfile ?? '')
  const files = outputFiles.map(({ path, contents }) => ({ path: relative(folder, path), contents }))
  return { files, inputs: inputFiles(metafile, process.cwd()) }
}

function build(title: string, options: BuildOptions) {
  const { buildSync } = esbuild()
  try {
    // Machine code is among the inputs then, where `native.ts` refuses it by the name of its package.
    const loader = { '.node': 'empty' as const, ...options.loader }
    return buildSync({ ...options, loader, write: false, metafile: true })
  } catch (cause) {
    const refusal = refusalText(cause, process.cwd())
    if (refusal === undefined) throw cause
    throw illegal(`${title} cannot be bundled: ${refusal}`, { cause })
  }
}

let found: typeof import('esbuild') | undefined

function esbuild(): typeof import('esbuild') {
  found ??= findEsbuild(process.cwd(), import.meta.url)
  if (found) return found
  throw illegal(
    'handlers are bundled with esbuild, which is not installed; add it: npm install --save-dev esbuild',
  )
}

/** The times and sizes of files, by their paths. They show whether a result that was made from the files is still right. */
type Stamps = ReadonlyMap<string, string>

function isUnchanged(stamps: Stamps): boolean {
  return [...stamps].every(([path, stamp]) => stampOf(path) === stamp)
}

function stampOf(path: string): string {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: -1 }
  return `${mtimeMs} ${size}`
}

/** The key of the metadata by which a function in the template carries its `BundleSpec`. */
export const BUNDLE_METADATA = 'baton:bundle'

/**
 * The bundle of a handler's function. Under `baton dev` the constructs write it into the template in place of finished code, and
 * `baton dev` bundles the code itself.
 */
export type BundleSpec = {
  readonly types: readonly string[]
  /** Absolute path of the generated file that exports the handler. */
  readonly entry: string
  /** Absolute path of the executor, as the entry imports it. */
  readonly runtime?: string
  /** esbuild's options, as JSON. */
  readonly options: Readonly<Record<string, unknown>>
  /** Packages that stay outside of the bundle. */
  readonly nodeModules: readonly string[]
  /** The folder from which these packages are found. */
  readonly root: string
}

/** Returns the esbuild of the project in `folder`, or else the one next to the module `besides`; undefined when there is none. */
export function findEsbuild(folder: string, besides: string): typeof import('esbuild') | undefined {
  return loadFrom(join(folder, 'package.json')) ?? loadFrom(besides)
}

function loadFrom(place: string): typeof import('esbuild') | undefined {
  const require = createRequire(place)
  try {
    return require(require.resolve('esbuild')) as typeof import('esbuild')
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'MODULE_NOT_FOUND') return undefined
    throw cause
  }
}

/** Returns the absolute paths of a bundle's sources. Generated code and the parts that esbuild adds are not files. */
export function inputFiles({ inputs }: Metafile, folder: string): string[] {
  return Object.keys(inputs)
    .filter(path => !/^[\w-]{2,}:|^</.test(path))
    .map(path => resolve(folder, path))
}

/** What esbuild refuses, with file, line and column. Undefined when `cause` is not a refusal of esbuild. */
export function refusalText(cause: unknown, folder: string): string | undefined {
  const { errors } = cause as { readonly errors?: readonly Message[] }
  return errors?.map(error => sentenceOf(error, folder)).join('; ')
}

function sentenceOf({ text, location }: Message, folder: string): string {
  if (!location) return text
  const file = relative(folder, resolve(folder, location.file))
  return `${file}:${location.line}:${location.column + 1}: ${text}`
}
