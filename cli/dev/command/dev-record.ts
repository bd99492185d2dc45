import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { BatonError } from '../../../shared/core/values/values.ts'

/**
 * What a running `baton dev` leaves for workers of the same user: the environment that leads them to its stores. It contains the
 * key of the local system, so it is a file that only this user can read, and not an answer of the HTTP API.
 */
export type DevRecord = {
  readonly pid: number
  readonly url: string
  readonly environment: Readonly<Record<string, string>>
}

/** Writes the record of the system at `record.url`, and returns the function that removes it. */
export function leaveDevRecord(record: DevRecord): () => void {
  const folder = recordFolder()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  refuseForeignFolder(folder)
  const file = recordFile(record.url)
  rmSync(file, { force: true })
  writeFileSync(file, JSON.stringify(record), { mode: 0o600 })
  return () => {
    if (readDevRecord(record.url)?.pid === record.pid) rmSync(file, { force: true })
  }
}

/** The host names that lead to this machine, as `URL` writes them. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/

/** Reads the record of the system that runs at this address; undefined if `baton dev` of this user does not run there. */
export function readDevRecord(url: string): DevRecord | undefined {
  if (!LOOPBACK.test(new URL(url).hostname)) return undefined
  try {
    refuseForeignFolder(recordFolder())
    const record = JSON.parse(readFileSync(recordFile(url), 'utf8')) as DevRecord
    return isAlive(record.pid) ? record : undefined
  } catch {
    return undefined
  }
}

function recordFolder(): string {
  // A container may run under a uid that has no name.
  return join(tmpdir(), `baton-${process.getuid?.() ?? userInfo().username}`)
}

/** A system on this machine is known by its port alone: it listens on 127.0.0.1, which has several names. */
function recordFile(url: string): string {
  return join(recordFolder(), `dev-${new URL(url).port || '80'}.json`)
}

/** Another user of the machine could have made the folder, to lead workers to stores of their own. */
function refuseForeignFolder(folder: string): void {
  const found = lstatSync(folder)
  const isOwn = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
  if (!isOwn)
    throw new BatonError('misconfigured', `${folder} must be a folder of yours that nobody else may open`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
