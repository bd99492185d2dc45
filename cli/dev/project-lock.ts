import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from '../../shared/core/errors.ts'
import type { Project } from './synthesis/project.ts'

/**
 * Keeps a second `baton dev` out of a project: it would remove the bundles and the assembly that the first one runs from. The lock is
 * a file with the id of the process. A file whose process has ended is taken over. Returns the function that removes the lock.
 *
 * @throws BatonError `misconfigured` when another process holds the lock.
 */
export function lockProject({ folder, generated }: Pick<Project, 'folder' | 'generated'>): () => void {
  const file = join(generated, 'dev.lock')
  mkdirSync(generated, { recursive: true })
  const holder = holderOf(file)
  if (holder === undefined) rmSync(file, { force: true })
  if (holder !== undefined || !create(file)) throw refusal(folder, file, holder ?? holderOf(file))
  const unlock = () => {
    process.off('exit', unlock)
    if (pidIn(file) === process.pid) rmSync(file, { force: true })
  }
  // A second signal ends the process without an orderly stop.
  process.once('exit', unlock)
  return unlock
}

/** Returns whether no other process was faster. */
function create(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

function refusal(folder: string, file: string, holder: number | undefined): BatonError {
  const text = `baton dev already runs in ${folder} (process ${holder}); end it first, or remove ${file} if that is another program`
  return new BatonError('misconfigured', text)
}

/** The other process that holds the lock, if it is alive. A container may give this process the id of an earlier one. */
function holderOf(file: string): number | undefined {
  const pid = pidIn(file)
  return pid !== undefined && pid !== process.pid && isAlive(pid) ? pid : undefined
}

function pidIn(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

/** A process of another user is alive, too, though this user may send it no signal. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}
