import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** Heads store worker ids, so a long host name is cut to its beginning. */
const MAX_HOST_LENGTH = 30

const host = hostname()
  .replaceAll(/[^A-Za-z0-9._-]/g, '-')
  .slice(0, MAX_HOST_LENGTH)

/** Says where the worker runs; the random part tells a restarted process with the same id from the one before. */
export const automaticWorkerId = `${host}-${process.pid}-${randomBytes(3).toString('hex')}`
