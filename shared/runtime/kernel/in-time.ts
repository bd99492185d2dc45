import { HTTP_WRITE_MS_MAX } from '../../core/bounds.ts'
import { BatonError } from '../../core/errors.ts'
import type { System } from './system.ts'

/**
 * The time by which an HTTP request that begins now must have written the heartbeats and reports of runs that it
 * carries.
 */
export function endOfRequest({ clock }: System): number {
  return clock.now() + HTTP_WRITE_MS_MAX
}

/**
 * The result of `work`, if it ends before `until`. Work that has begun goes on after that time, so repeating it must be
 * safe.
 *
 * @throws BatonError `unavailable` when the work did not end in time. `what` says what has not happened.
 */
export async function inTime<T>(
  { clock }: System,
  until: number,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const late = () => new BatonError('unavailable', `${what} in time: repeating it is safe`)
  const leftMs = until - clock.now()
  if (leftMs <= 0) throw late()
  const done = new AbortController()
  const timeout = clock.sleep(leftMs, done.signal).then(() => Promise.reject(late()))
  timeout.catch(() => undefined)
  return Promise.race([work(), timeout]).finally(() => done.abort())
}
