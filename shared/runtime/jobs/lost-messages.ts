import type { System } from '../kernel/system.ts'

/** A message that has been silent for this long counts as lost even while other messages wait in the jobs queue. */
const SILENCE_MS_MAX = 15 * 60_000

/**
 * Returns a function that judges whether the message of a job or a canvas is lost, given the time of its last
 * sign of life.
 *
 * Silence alone is not enough. Behind a large resume a message may wait for minutes, and each copy of it would
 * make the queue longer. The queue is measured at most once per detector, and only when something is silent.
 */
export function lostMessageDetector(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  silentMs: number,
): (lastSign: number) => Promise<boolean> {
  let waiting: Promise<number> | undefined
  return async lastSign => {
    const silence = clock.now() - lastSign
    if (silence < silentMs) return false
    if (silence >= SILENCE_MS_MAX) return true
    waiting ??= messages.waitingJobs()
    return (await waiting) === 0
  }
}
