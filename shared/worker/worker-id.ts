import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** A task's head stores worker ids, so a longer host name is cut. */
const HOST_CHARACTERS_MAX = 30

const host = hostname()
  .replaceAll(/[^A-Za-z0-9._-]/g, '-')
  .slice(0, HOST_CHARACTERS_MAX)

/**
 * Makes a new worker id of host name, process id and a random part. The random part distinguishes workers of one process,
 * and a restarted process that got the same process id as the process before.
 */
export function automaticWorkerId(): string {
  return `${host}-${process.pid}-${randomBytes(3).toString('hex')}`
}
