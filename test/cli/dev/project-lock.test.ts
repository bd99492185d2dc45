import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { lockProject } from '../../../cli/dev/requirements.ts'

/** A project whose lock names this process. */
function lockedBy(pid: number | string) {
  const folder = mkdtempSync(join(tmpdir(), 'locked-'))
  const generated = join(folder, '.baton')
  const file = join(generated, 'dev.lock')
  mkdirSync(generated)
  writeFileSync(file, String(pid))
  return { folder, generated, file }
}

it('a project with a running baton dev is refused, by its process and folder', () => {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  const project = lockedBy(other.pid ?? 0)

  try {
    expect(() => lockProject(project)).toThrow(
      `baton dev already runs in ${project.folder} (process ${other.pid}); end it first`,
    )
    expect(readFileSync(project.file, 'utf8')).toBe(String(other.pid))
  } finally {
    other.kill('SIGKILL')
  }
})

it.each([
  ['of a process that was killed', spawnSync(process.execPath, ['-e', '']).pid],
  ['that is empty', ''],
])('a lock %s is taken over, and removed at the end', (_which, pid) => {
  const project = lockedBy(pid)

  const unlock = lockProject(project)

  expect(readFileSync(project.file, 'utf8')).toBe(String(process.pid))
  unlock()
  expect(existsSync(project.file)).toBe(false)
})
