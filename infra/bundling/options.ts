import { resolve } from 'node:path'
import type { BuildOptions, Loader } from 'esbuild'
import { defined } from '../../shared/core/values/json.ts'
import { sourceFile } from './places.ts'

/** How a handler's code is bundled. The names are those of CDK's `NodejsFunction`. */
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
function requireNamed(name: string) {
  return { js: `import{createRequire as ${name}}from'node:module';const require=${name}(import.meta.url);` }
}

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

/** Files in `functions/` that lie beside the bundle of a function of the system, which reads them while it runs. */
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
  const {
    nodeModules = [],
    externalModules = [],
    loader,
    define,
    minify,
    sourceMap,
    target,
    tsconfig,
  } = props
  const given = defined({ loader, define, minify, sourcemap: sourceMap, target })
  return {
    ...BUNDLE_OPTIONS,
    // A handler's bundle contains the executor, which is prebuilt with the other name.
    banner: requireNamed('batonRequireForHandler'),
    ...(given as BuildOptions),
    external: [...nodeModules, ...externalModules],
    ...(tsconfig !== undefined && { tsconfig: resolve(tsconfig) }),
  }
}
