import type { OutputStream } from './io.ts'

/** A part of the terminal that is drawn again and again in the same place. */
type LiveView = {
  /** Replaces what was drawn before. Lines that are too long for the terminal are cut. */
  draw(lines: readonly string[]): void
  /** Leaves the last lines where they are, and the terminal as it was. */
  end(): void
}

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
/** Without wrapping, a long line stays on its row, so the count of rows is right. */
const NO_WRAP = '\x1b[?7l'
const WRAP = '\x1b[?7h'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

const DEFAULT_ROWS = 24

export function createLiveView(out: OutputStream): LiveView {
  let drawn = 0
  let isOpen = false
  return {
    draw: lines => {
      // The last row of the terminal is for the cursor: writing below it would scroll.
      const shown = lines.slice(0, Math.max(1, (out.rows ?? DEFAULT_ROWS) - 1))
      const start = isOpen ? (drawn > 0 ? `\x1b[${drawn}A` : '') : HIDE_CURSOR + NO_WRAP
      out.write(`${start}${shown.map(line => `\r${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`)
      drawn = shown.length
      isOpen = true
    },
    end: () => {
      if (isOpen) out.write(`${WRAP}${SHOW_CURSOR}`)
      isOpen = false
    },
  }
}

/** How far a long command is, in one line of the terminal. Without a terminal nothing is shown. */
type Progress = {
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
