import type { System } from '../kernel/system.ts'

/** A message that has been silent for so long counts as lost even while others wait in the jobs queue. */
const PATIENCE_MS = 15 * 60_000

/**
 * Tells whether the message of a job or a canvas that showed its last sign of life at `lastSign` is lost. Silence alone
 * does not say so: behind a large resume a message may wait for minutes, and each copy of it would make the queue longer.
 * The queue is measured at most once per judge, and only when something is silent.
 */
export function lostMessageDetector(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  silentMs: number,
): (lastSign: number) => Promise<boolean> {
  let waiting: Promise<number> | undefined
  return async lastSign => {
    const silence = clock.now() - lastSign
    if (silence < silentMs) return false
    if (silence >= PATIENCE_MS) return true
    waiting ??= messages.waitingJobs()
    return (await waiting) === 0
  }
}
