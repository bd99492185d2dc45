import { dirname } from 'node:path'
import type { CfnResource } from 'aws-cdk-lib'
import type { Code } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { BUNDLE_METADATA, type BundleSpec } from './bundle-spec.ts'
import { type Contents, codeOf, placeholderCode } from './bundling.ts'
import { type DefinitionPlace, writeExecutorEntry, writeWorkerEntry } from './entries.ts'
import { bundle } from './esbuild.ts'
import { generatedFile } from './generated-file.ts'
import type { Cpu } from './native.ts'
import { planModules } from './node-modules.ts'
import { type BundlingProps, runnableOptionsOf } from './options.ts'
import { runtimeModule } from './runtime-module.ts'

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

/** Returns what makes the main file `index.mjs` of a container that serves the definitions, and the modules beside it. */
export function workerContents(code: UserCode): () => Contents {
  const entry = writeWorkerEntry(code.name, code.definitions)
  return () => contentsOf(code, entry)
}

/** The contents without the modules that stay outside of the bundle: those of the project, as it has installed them, are found. */
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
