import { BatonError } from '../../shared/core/errors.ts'

/**
 * The terminal of a command: what it prints on, what it reads, and when it has to stop. `baton.ts` binds it to the process, and tests
 * bind it to memory. Read in this order:
 *
 * - `command.ts`: what a command is defined with; `say.ts`: exit codes, and words that several commands say;
 * - `printer.ts`: what commands print, as text for people or as JSON for programs;
 * - `style.ts`: colours, and texts of tasks made harmless for a terminal;
 * - `table.ts`, `times.ts`: aligned columns, and times relative to now;
 * - `live-view.ts`: what is drawn again, and how far a long command is.
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
}

export type OutputStream = {
  write(text: string): void
  readonly isTTY: boolean
  /** Columns of the terminal. Without a terminal it is undefined, and lines may have any length. */
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

type InputStream = AsyncIterable<Uint8Array | string> & { readonly isTTY: boolean }

/**
 * Asks a question that must be answered with `y` or `yes`. Any other answer, and the end of the input, mean no.
 *
 * @throws BatonError `invalid` when the input is no terminal, so that there is no answer.
 */
export async function confirm({ input, err }: Io, question: string): Promise<boolean> {
  if (!input.isTTY) throw new BatonError('invalid', `${question} Give --yes to go on without being asked.`)
  err.write(`${question} [y/N] `)
  return /^(y|yes)$/i.test((await firstLine(input)).trim())
}

async function firstLine(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.includes('\n')) break
  }
  return text.split('\n', 1)[0] ?? ''
}
