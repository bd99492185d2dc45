import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** All temporary folders of this run of the tests are made in one, which goes when the tests have ended. */
export function setup(): () => void {
  const before = process.env.TMPDIR
  const folder = mkdtempSync(join(tmpdir(), 'baton-test-'))
  process.env.TMPDIR = folder
  return () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    rmSync(folder, { recursive: true, force: true })
  }
}
