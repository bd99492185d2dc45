/**
 * The terminal of a command: what it prints on, what it reads, and when it has to stop. `baton.ts` binds it to the process, and tests
 * bind it to memory. Read in this order:
 *
 * - `printer.ts`: what commands print, as text for people or as JSON for programs;
 * - `safe-text.ts`: makes the texts of tasks harmless for a terminal;
 * - `style.ts`, `table.ts`, `times.ts`: colours, aligned columns, and times relative to now;
 * - `live-view.ts`, `progress.ts`, `confirm.ts`: what is drawn again, how far a long command is, and a question.
 */

/** The terminal, the environment, the clock and the network of a command. */
export type Io = {
  /** What scripts read. */
  readonly out: OutputStream
  /** What people read: notes, questions, progress and errors. */
  readonly err: OutputStream
  readonly input: InputStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds since the epoch. */
  now(): number
  /** Aborts when the user interrupts the command with Ctrl-C. */
  readonly signal: AbortSignal
  /** Lets an interrupted process go on until this work has ended. A second Ctrl-C ends it at once. */
  endAfter(work: Promise<unknown>): void
  fetch(request: Request): Promise<Response>
  /** Waits before another try. Tests do not wait. */
  pause(ms: number): Promise<unknown>
}

export type OutputStream = {
  write(text: string): void
  readonly isTTY: boolean
  /** Columns of the terminal. Without a terminal it is undefined, and lines may have any length. */
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

type InputStream = AsyncIterable<Uint8Array | string> & { readonly isTTY: boolean }
