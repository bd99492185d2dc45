import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** Heads store worker ids, so a long host name is cut to its beginning. */
const MAX_HOST_LENGTH = 30

const host = hostname()
  .replaceAll(/[^A-Za-z0-9._-]/g, '-')
  .slice(0, MAX_HOST_LENGTH)

/**
 * A new id that says where the worker runs. The random part tells workers of one process apart, and a restarted process
 * with the same id from the one before.
 */
export function automaticWorkerId(): string {
  return `${host}-${process.pid}-${randomBytes(3).toString('hex')}`
}
