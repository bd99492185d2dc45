import type { OutputStream } from './io.ts'

/** How far a long command is, in one line of the terminal. Without a terminal nothing is shown. */
export type Progress = {
  /** Shows a line in place of the last one, at most ten times a second. */
  show(text: string): void
  /** Removes the line. */
  clear(): void
}

const SHOW_EVERY_MS = 100

export function createProgress(err: OutputStream, now: () => number): Progress {
  let shownAt = Number.NEGATIVE_INFINITY
  let isShown = false
  return {
    show: text => {
      if (!err.isTTY || Math.abs(now() - shownAt) < SHOW_EVERY_MS) return
      err.write(`\r${text}\x1b[K`)
      shownAt = now()
      isShown = true
    },
    clear: () => {
      if (isShown) err.write('\r\x1b[K')
      isShown = false
    },
  }
}
