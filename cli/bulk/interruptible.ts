import { INTERRUPTED_EXIT_CODE } from '../say.ts'
import type { Context } from '../system/with-system.ts'

/**
 * Runs the calls of a command for many tasks, which begin no further call after a Ctrl-C. The process ends after the calls under way, so
 * that the report says how each of them ended, and `resumption` is printed. Returns the exit code after an interruption; otherwise
 * undefined.
 */
export async function interruptible(
  { io, printer }: Context,
  calls: () => Promise<void>,
  resumption: () => string,
): Promise<number | undefined> {
  const onInterrupt = () =>
    printer.note('interrupted: the calls under way end first; Ctrl-C again ends at once')
  io.signal.addEventListener('abort', onInterrupt, { once: true })
  const whole = calls().then(() => {
    if (io.signal.aborted) printer.warn(resumption())
  })
  io.endAfter(whole)
  try {
    await whole
  } finally {
    io.signal.removeEventListener('abort', onInterrupt)
  }
  return io.signal.aborted ? INTERRUPTED_EXIT_CODE : undefined
}
