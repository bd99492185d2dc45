import type { Code } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { codeOf } from './bundling.ts'
import { type DefinitionPlace, writeExecutorEntry } from './entries.ts'
import { bundle } from './esbuild.ts'
import { generatedFile } from './generated-file.ts'
import { BUNDLE_OPTIONS } from './options.ts'

/** The code of a handler's function: the executor with the definition that it serves, under a name that is unique in the project. */
export function handlerCode(
  scope: Construct,
  title: string,
  name: string,
  definition: DefinitionPlace,
): Code {
  const entry = writeExecutorEntry(name, definition)
  return codeOf(scope, () =>
    bundle(title, {
      ...BUNDLE_OPTIONS,
      entryPoints: [entry],
      outfile: generatedFile('bundles', name, 'index.mjs'),
    }),
  )
}
