import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Makes one folder for all temporary folders of a test run, and removes it at the end. Node's compile cache is one of them: a
 * process that finds its modules compiled needs half the processor time to start.
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
