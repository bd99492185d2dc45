import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Code } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { codeOf } from './bundling.ts'
import { bundle } from './esbuild.ts'
import { generatedFile } from './generated-file.ts'
import { FILES_BESIDE, SYSTEM_OPTIONS } from './options.ts'
import { prebuilt, sourceFile } from './runtime-module.ts'

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
