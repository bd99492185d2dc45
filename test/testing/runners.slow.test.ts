import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const KIT = resolve(import.meta.dirname, '../../shared/testing/index.ts')

it('node:test runs a test file that uses the kit', async () => {
  const file = resolve(import.meta.dirname, 'fixtures/node-test.ts')

  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', file])

  expect(stdout).toContain('# pass 2')
  expect(stdout).toContain('# fail 0')
})

it('the kit brings neither an AWS SDK, nor a schema library, nor a test runner', async () => {
  const { metafile } = await build({
    entryPoints: [KIT],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
  })
  const packages = Object.keys(metafile.inputs).flatMap(
    path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  )
  const builtIn = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))

  expect([...new Set(packages)].sort()).toEqual(['@opentelemetry/api', 'croner'])
  expect([...new Set(builtIn)].sort()).toEqual(['node:async_hooks'])
})
