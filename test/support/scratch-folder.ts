import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * All temporary folders of this run of the tests are made in one folder, which is removed when the tests have ended. Node's
 * compile cache is one of them: a process of ours that finds its modules compiled starts in half the time of the processor.
 */
export function setup(): () => void {
  const { TMPDIR, NODE_COMPILE_CACHE } = process.env
  const folder = mkdtempSync(join(tmpdir(), 'baton-test-'))
  process.env.TMPDIR = folder
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'node-compile-cache')
  return () => {
    restore('TMPDIR', TMPDIR)
    restore('NODE_COMPILE_CACHE', NODE_COMPILE_CACHE)
    rmSync(folder, { recursive: true, force: true })
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
