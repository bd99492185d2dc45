/**
 * The code of functions and containers. What the system itself runs ships as prebuilt bundles. What users write is bundled at
 * synthesis, from a generated entry that joins their definitions with the executor or the worker (`places.ts`). `esbuild.ts` runs
 * esbuild. `infra/types/definition.ts` loads the file of a definition through the same options, so that what bundles also loads.
 *
 * Packages in `bundling.nodeModules` are next to the bundle: `node-modules.ts` plans what is copied from the project, `native.ts` knows
 * machine code, and `places.ts` finds installed packages and fetches builds for other platforms. This file turns a bundle with its
 * modules into an asset of CDK.
 */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AssetHashType, type CfnResource, DockerImage, Stack } from 'aws-cdk-lib'
import { Code } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { Bundle, BundleSpec, BundlingProps } from './esbuild.ts'
import { BUNDLE_METADATA, bundle, FILES_BESIDE, runnableOptionsOf, SYSTEM_OPTIONS } from './esbuild.ts'
import type { Cpu } from './native.ts'
import { copyModule, type PlannedModule, planModules } from './node-modules.ts'
import { generatedFile, prebuilt, runtimeModule, sourceFile, specifier, writeGenerated } from './places.ts'

/** Definitions in files of users, to be bundled with what runs them. */
export type UserCode = {
  /** What is bundled, in errors: the entry as the app names it. */
  readonly title: string
  /** A name that is unique in the project. */
  readonly name: string
  readonly definitions: readonly [ServedPlace, ...ServedPlace[]]
  readonly cpu: Cpu
  readonly bundling?: BundlingProps | undefined
}

type ServedPlace = DefinitionPlace & { readonly type: string }

/** The code of the function that serves the definitions. Under `baton dev` it is a placeholder. */
export function handlerCode(scope: Construct, code: UserCode): Code {
  const entry = writeExecutorEntry(code.name, code.definitions)
  return isDevelopment(scope) ? placeholderCode() : codeOf(scope, () => contentsOf(code, entry))
}

/** Returns what makes the main file `index.mjs` of a container that serves the definitions, and the modules next to it. */
export function workerContents(code: UserCode): () => Contents {
  const entry = writeWorkerEntry(code.name, code.definitions)
  return () => contentsOf(code, entry)
}

/** The contents without the modules that stay outside of the bundle. The modules that the project has installed are found. */
export function withoutModules({ files }: Contents): Contents {
  return { files }
}

/** Whether `baton dev` synthesises the app. It bundles the code of a function when the function gets its first message. */
export function isDevelopment(scope: Construct): boolean {
  return Boolean(scope.node.tryGetContext('baton:dev'))
}

/** Writes to the template, for `baton dev` only, how the code of a function is bundled. */
export function describeBundle(resource: CfnResource, { name, definitions, bundling }: UserCode): void {
  if (!isDevelopment(resource)) return
  const spec: BundleSpec = {
    types: definitions.map(({ type }) => type),
    entry: generatedFile('entries', `${name}.ts`),
    runtime: runtimeModule('executor'),
    options: { ...runnableOptionsOf(bundling) },
    nodeModules: bundling?.nodeModules ?? [],
    // Code in this folder finds the modules.
    root: dirname(definitions[0].file),
  }
  resource.addMetadata(BUNDLE_METADATA, spec)
}

function contentsOf({ title, name, definitions, cpu, bundling }: UserCode, entry: string): Contents {
  const { files } = bundle(title, {
    ...runnableOptionsOf(bundling),
    entryPoints: [entry],
    outfile: generatedFile('bundles', name, 'index.mjs'),
  })
  const names = bundling?.nodeModules ?? []
  return { files, cpu, modules: planModules({ title, names, from: dirname(definitions[0].file), cpu }) }
}

type DefinitionPlace = { readonly file: string; readonly exportName: string }

/** Writes the Lambda entry that serves the definitions, and returns its absolute path. */
function writeExecutorEntry(name: string, places: readonly DefinitionPlace[]): string {
  return writeEntry(name, places, {
    imports: entry => `import { executorOf } from ${specifier(entry, runtimeModule('executor'))}`,
    serves: definitions => `export const handler = executorOf(${definitions})`,
  })
}

/** Writes the main file of a container that serves the definitions, and returns its absolute path. */
function writeWorkerEntry(name: string, places: readonly DefinitionPlace[]): string {
  return writeEntry(name, places, {
    imports: entry => `import { serveTasks } from ${specifier(entry, runtimeModule('worker'))}`,
    serves: definitions => `serveTasks([${definitions}])`,
  })
}

type Lines = { imports(entry: string): string; serves(definitions: string): string }

/** The name of the file is unique in the project. */
function writeEntry(name: string, places: readonly DefinitionPlace[], { imports, serves }: Lines): string {
  const entry = generatedFile('entries', `${name}.ts`)
  const lines = [
    '// Generated at synthesis; do not edit.',
    imports(entry),
    ...places.map(
      ({ file, exportName }, index) =>
        `import { ${exportName} as task${index} } from ${specifier(entry, file)}`,
    ),
    '',
    serves(places.map((_place, index) => `task${index}`).join(', ')),
    '',
  ]
  writeGenerated(entry, lines.join('\n'))
  return entry
}

/** The functions of the system itself: `functions/<name>.ts` exports the handler of each. */
export type SystemFunction =
  | 'api'
  | 'claims'
  | 'jobs'
  | 'planner'
  | 'registrar'
  | 'sweeper'
  | 'waker'
  | 'webhook'

/** The code of one of the system's functions: prebuilt where the package is installed, else bundled from its source. */
export function systemCode(scope: Construct, name: SystemFunction): Code {
  const file = prebuilt(name)
  if (file) return Code.fromAsset(dirname(file))
  return codeOf(scope, () => {
    const outfile = generatedFile('bundles', name, 'index.mjs')
    const { files } = bundle(`the function '${name}'`, {
      ...SYSTEM_OPTIONS,
      entryPoints: [sourceFile(`${name}.ts`)],
      outfile,
    })
    return { files: [...files, ...filesBeside(name)] }
  })
}

function filesBeside(name: SystemFunction) {
  const files = FILES_BESIDE[name] ?? []
  return files.map(file => ({ path: basename(file), contents: readFileSync(sourceFile(file)) }))
}

type Contents = Pick<Bundle, 'files'> & {
  readonly modules?: readonly PlannedModule[]
  /** The processor of the modules. @default 'arm64' */
  readonly cpu?: Cpu
}

const PLACEHOLDER = `// Stands in for a function's code where a synthesis needs only the template.
export const handler = () => {
  throw new Error('this function has no code: its stack was synthesised without bundling')
}
`

/**
 * The files of a bundle as a function's code. `make` runs at once, so that its refusals reach the app unchanged, and only if CDK
 * needs the code: for `cdk list`, or for the deployment of another stack, it does not.
 */
function codeOf(scope: Construct, make: () => Contents): Code {
  return Stack.of(scope).bundlingRequired ? stagedCode(make()) : placeholderCode()
}

function placeholderCode(): Code {
  return Code.fromAsset(placeholder())
}

export function writeContents(folder: string, { files, modules = [], cpu = 'arm64' }: Contents): void {
  for (const { path, contents } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), contents)
  }
  for (const module of modules) copyModule(folder, module, cpu)
}

/** CDK calls `tryBundle` with a folder in its own output, hashes what is in it, and moves it to its final place. */
function stagedCode(contents: Contents): Code {
  const tryBundle = (folder: string): true => {
    writeContents(folder, contents)
    return true
  }
  return Code.fromAsset(placeholder(), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('unused'),
      // CDK bundles assets with equal properties once. The hash makes them differ when the contents do.
      local: { tryBundle, ...{ hash: hashOf(contents) } },
    },
  })
}

function hashOf({ files, modules = [], cpu = 'arm64' }: Contents): string {
  const hash = createHash('sha256').update(cpu)
  for (const { path, contents } of files) hash.update(path).update(contents)
  for (const { package: one, path } of modules) hash.update(`${path}@${one.manifest.version}`)
  return hash.digest('hex')
}

function placeholder(): string {
  const file = generatedFile('placeholder', 'index.mjs')
  writeGenerated(file, PLACEHOLDER)
  return dirname(file)
}
