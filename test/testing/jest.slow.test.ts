import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const JEST = 'jest@30.2.0'

it('jest runs a test file that uses the kit, as an ES module', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-jest-'))
  try {
    await build({
      entryPoints: [resolve(import.meta.dirname, 'fixtures/jest-test.ts')],
      outfile: join(folder, 'kit.test.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
    })
    const config = {
      testMatch: ['**/*.test.mjs'],
      moduleFileExtensions: ['mjs', 'js', 'json'],
      transform: {},
    }
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'kit-in-jest', private: true, jest: config }),
    )
    await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', JEST], { cwd: folder })

    const jest = join(folder, 'node_modules/jest/bin/jest.js')
    const { stderr } = await run(process.execPath, ['--experimental-vm-modules', jest], { cwd: folder })

    expect(stderr).toContain('Tests:       2 passed, 2 total')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
