import { HTTP_WRITE_MS_MAX } from '../../core/bounds.ts'
import { BatonError } from '../../core/errors.ts'
import type { System } from './system.ts'

/** Until when the words on runs that a request over HTTP brings must be written, if it begins now. */
export function endOfRequest({ clock }: System): number {
  return clock.now() + HTTP_WRITE_MS_MAX
}

/**
 * The result of the work, if it ends before `until`. Work that has begun goes on in any case, so repeating it must be safe.
 *
 * @throws BatonError `unavailable` when it is not; `what` says what has not happened.
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
  const over = new AbortController()
  const lateness = clock.sleep(leftMs, over.signal).then(() => Promise.reject(late()))
  lateness.catch(() => undefined)
  return Promise.race([work(), lateness]).finally(() => over.abort())
}
