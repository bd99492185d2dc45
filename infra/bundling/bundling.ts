/**
 * The code of functions and containers. What the system itself runs ships as prebuilt bundles. What users write is bundled at
 * synthesis, from a generated entry that joins their definitions with the executor or the worker (`code.ts`, `places.ts`). `esbuild.ts` runs esbuild with the options of `options.ts`. `infra/types/definition.ts` loads the file of a definition
 * through the same options, so that what bundles also loads.
 *
 * Packages in `bundling.nodeModules` lie beside the bundle: `node-modules.ts` plans what is copied from the project,
 * `native.ts` knows machine code, and `packages.ts` reads installed packages and fetches builds for other platforms. This file turns a bundle with its modules
 * into an asset of CDK.
 */

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AssetHashType, DockerImage, Stack } from 'aws-cdk-lib'
import { Code } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { Bundle } from './esbuild.ts'
import type { Cpu } from './native.ts'
import { copyModule, type PlannedModule } from './node-modules.ts'
import { generatedFile, writeGenerated } from './places.ts'

/** A bundle, and the modules that lie beside it. */
export type Contents = Pick<Bundle, 'files'> & {
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
export function codeOf(scope: Construct, make: () => Contents): Code {
  return Stack.of(scope).bundlingRequired ? stagedCode(make()) : placeholderCode()
}

/** A folder without the function's code. */
export function placeholderCode(): Code {
  return Code.fromAsset(placeholder())
}

/** Writes the files and the modules to a folder. */
export function writeContents(folder: string, { files, modules = [], cpu = 'arm64' }: Contents): void {
  for (const { path, contents } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), contents)
  }
  for (const module of modules) copyModule(folder, module, cpu)
}

/** CDK calls `tryBundle` with a folder in its own output, hashes what stands there, and moves it to its final place. */
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
