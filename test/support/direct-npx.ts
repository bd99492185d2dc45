import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'

/** The variable that says that the script is on the PATH: the setups of all test projects run in one process. */
const DIRECT_VARIABLE = 'BATON_TEST_NPX'

/**
 * Replaces `npx` by a short script. CDK bundles each function by `npx --no-install esbuild …`. Each npx takes a third of a second of
 * the processor to find a program in `node_modules/.bin`.
 */
export function setup(): (() => void) | undefined {
  if (process.platform === 'win32' || process.env[DIRECT_VARIABLE]) return undefined
  process.env[DIRECT_VARIABLE] = 'true'
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
