import { readFileSync } from 'node:fs'
import { BatonError, messageOf } from '../../shared/core/values/values.ts'

/**
 * The terminal of a command: what it prints on, what it reads, and when it has to stop. `baton.ts` binds it to the process, and tests
 * bind it to memory. Read in this order:
 *
 * - `command.ts`: what a command is defined with, and the readers of its options;
 * - `printer.ts`: what commands print, as text and tables for people or as JSON for programs, and what a terminal shows again and again;
 * - `style.ts`: colours, times, and texts of tasks made harmless for a terminal.
 *
 * The exit codes, and texts that several commands print, are below.
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
  /** Resolves after `ms`, and at once when the command is interrupted. */
  sleep(ms: number): Promise<void>
  /** Aborts when the user interrupts the command with Ctrl-C. */
  readonly signal: AbortSignal
  /** Lets an interrupted process continue until this work has ended. A second Ctrl-C ends it at once. */
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
 * @throws BatonError `invalid` when the input is not a terminal, so that there is no answer.
 */
export async function confirm({ input, err }: Io, question: string): Promise<boolean> {
  if (!input.isTTY) throw new BatonError('invalid', `${question} Give --yes to continue without being asked.`)
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

/** Why a request got no answer. `fetch` itself says only that it failed. Its cause says why, such as that a connection was refused. */
export function fetchFailureOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  // Several addresses of a host make one error without a message.
  const { message, code } = Object(cause) as { readonly message?: string; readonly code?: string }
  return message || code || messageOf(error)
}

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w.:@,=+/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** Options with their values as words of a shell. An option without a value is left out. */
export function optionWords(options: Readonly<Record<string, string | number | undefined>>): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  )
}

/** The exit code when what the caller wanted did not come about, such as a task that failed. */
export const FAILED_EXIT_CODE = 1

/** The exit code for a mistake of the caller. */
export const WRONG_USE_EXIT_CODE = 2

/** The exit codes after a Ctrl-C and after SIGTERM: 128 and the number of the signal, as shells have it. */
export const INTERRUPTED_EXIT_CODE = 130
export const TERMINATED_EXIT_CODE = 143

/** Whether the caller can correct the error: a wrong number, a missing file, a variable that is not set, a port that is taken. */
export function isWrongUse(error: unknown): error is BatonError {
  return error instanceof BatonError && ['invalid', 'misconfigured'].includes(error.code)
}

/** The version of this package, which is the version of the whole repository. */
export function ownVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
