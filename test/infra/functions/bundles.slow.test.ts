import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readAssembly } from '../../../local/template/stack.ts'
import { aFolder } from '../../support/a-folder.ts'

const folder = aFolder()

const synthesis = spawnSync(process.execPath, ['infra/app.ts'], {
  encoding: 'utf8',
  env: {
    ...process.env,
    CDK_VALIDATION: 'true',
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify(contextOfProject()),
  },
})
if (synthesis.status !== 0) throw new Error(`the app could not be synthesised:\n${synthesis.stderr}`)

const assembly = readAssembly(folder, 'Baton')
const functions = Object.entries(assembly.template.Resources)
  .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
  .map(([id, resource]) => [id, join(assembly.codeDirOf(resource), 'index.mjs'), resource] as const)

it.each(functions)('%s starts with nothing but the environment of its template', (_id, bundle, resource) => {
  const { Variables } = resource.Properties!.Environment as { Variables: Record<string, unknown> }
  const environment = Object.entries(Variables).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : `${name}/made-up`,
  ])
  const script = `console.log((await import('${bundle}')).handler.length)`

  const parameters = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: {
      ...Object.fromEntries(environment),
      ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
      AWS_REGION: 'us-east-1',
      AWS_LAMBDA_FUNCTION_NAME: 'made-up',
    },
  })

  // Lambda refuses handlers with a third parameter on this runtime.
  expect(Number(parameters)).toBeLessThanOrEqual(2)
})

it('Every bundle links its source map, so that stack traces name our files', () => {
  for (const [, bundle] of functions)
    expect(readFileSync(bundle, 'utf8')).toContain('//# sourceMappingURL=index.mjs.map')
})

function contextOfProject(): unknown {
  return (JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: unknown }).context
}
