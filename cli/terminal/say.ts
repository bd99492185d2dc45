import { readFileSync } from 'node:fs'
import { BatonError, messageOf } from '../../shared/core/errors.ts'

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

/** The version of this package. It is that of the whole repository. */
export function ownVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
