import type { Context } from '../connection/with-system.ts'
import { INTERRUPTED_EXIT_CODE } from '../terminal/io.ts'

/**
 * Calls `work` for each item, at most `concurrency` at a time, until `signal` aborts. An error ends it, after the calls under way have
 * ended.
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = iteratorOf(items)
  let isOver = false
  const lane = async () => {
    while (!isOver && !signal.aborted) {
      const next = await iterator()
      if (next.done) return
      await work(next.value)
    }
  }
  const lanes = Array.from({ length: concurrency }, () =>
    lane().catch(error => {
      isOver = true
      throw error
    }),
  )
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Takes items one after the other, also when several lanes ask at once. */
function iteratorOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): () => Promise<IteratorResult<Item>> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(() => iterator.next())
    last = next.catch(() => {})
    return next
  }
}

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
