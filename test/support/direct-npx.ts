import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'

/** Set while the script is on the path, since the projects share the process of their setups. */
const IS_DIRECT = 'BATON_TEST_NPX'

/**
 * CDK bundles each function by `npx --no-install esbuild …`. Each npx takes a third of a second of the processor to find a
 * program in `node_modules/.bin`. In the tests a script of two lines finds it.
 */
export function setup(): (() => void) | undefined {
  if (process.platform === 'win32' || process.env[IS_DIRECT]) return undefined
  process.env[IS_DIRECT] = 'true'
  const { PATH } = process.env
  const folder = mkdtempSync(join(tmpdir(), 'npx-'))
  const script = join(folder, 'npx')
  const installed = resolve('node_modules/.bin')
  writeFileSync(script, `#!/bin/sh\nshift; tool=$1; shift\nexec "${installed}/$tool" "$@"\n`)
  chmodSync(script, 0o755)
  process.env.PATH = [folder, PATH].join(delimiter)
  return () => {
    process.env.PATH = PATH
    rmSync(folder, { recursive: true, force: true })
  }
}
