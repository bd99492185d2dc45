/**
 * The code of functions and containers. What the system itself runs ships as prebuilt bundles (`system-code.ts`); what users write
 * is bundled at synthesis (`handler-code.ts`), from a generated entry (`entries.ts`) that joins their definition with the executor
 * (`runtime-module.ts`). `esbuild.ts` runs esbuild with the options of `options.ts`, and `load-exports.ts` loads the file of a
 * definition through the same options, so that what bundles also loads. This file turns a bundle into an asset of CDK.
 */

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AssetHashType, DockerImage, Stack } from 'aws-cdk-lib'
import { Code } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { Bundle } from './esbuild.ts'
import { generatedFile, writeGenerated } from './generated-file.ts'

const PLACEHOLDER = `// Stands in for a function's code where a synthesis needs only the template.
export const handler = () => {
  throw new Error('this function has no code: its stack was synthesised without bundling')
}
`

/**
 * The files of a bundle as a function's code. `make` runs at once, so that its refusals reach the app unchanged, and only if CDK
 * needs the code: for `cdk list`, or for the deployment of another stack, it does not.
 */
export function codeOf(scope: Construct, make: () => Bundle): Code {
  return Stack.of(scope).bundlingRequired ? stagedCode(make()) : placeholderCode()
}

/** A folder without the function's code. */
function placeholderCode(): Code {
  return Code.fromAsset(placeholder())
}

/** CDK calls `tryBundle` with a folder in its own output, hashes what stands there, and moves it to its final place. */
function stagedCode({ files }: Bundle): Code {
  const tryBundle = (folder: string): true => {
    for (const { path, contents } of files) writeFileSync(join(folder, basename(path)), contents)
    return true
  }
  return Code.fromAsset(placeholder(), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('unused'),
      // CDK bundles assets with equal properties once. The hash makes them differ when the files do.
      local: { tryBundle, ...{ hash: hashOf(files) } },
    },
  })
}

function hashOf(files: Bundle['files']): string {
  const hash = createHash('sha256')
  for (const { path, contents } of files) hash.update(basename(path)).update(contents)
  return hash.digest('hex')
}

function placeholder(): string {
  const file = generatedFile('placeholder', 'index.mjs')
  writeGenerated(file, PLACEHOLDER)
  return dirname(file)
}
