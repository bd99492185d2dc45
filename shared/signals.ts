/** What a handler throws to say how its run ends. Each is found through `cause`, so a wrapped one still counts. */

/** Try again after `delayMs`, in place of the type's backoff. Always costs a retry. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly delayMs: number

  constructor(delayMs: number, message = `retry in ${delayMs} ms`, options?: ErrorOptions) {
    super(message, options)
    this.delayMs = delayMs
  }
}

/** Do not try again: the task fails. */
export class Fatal extends Error {
  override readonly name = 'Fatal'
}

/** Give the task back unharmed, to be claimed again after `delayMs`. Costs no retry. May also be returned. */
export class Release extends Error {
  override readonly name = 'Release'
  readonly delayMs: number

  constructor(delayMs = 0) {
    super(`released for ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

export type Signal = RetryLater | Fatal | Release

const MAX_CAUSES = 10

/** The signal in an error or its causes, if any. */
export function signalIn(error: unknown): Signal | undefined {
  let current = error
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (isSignal(current)) return current
    current = current.cause
  }
  return undefined
}

function isSignal(error: Error): error is Signal {
  return error instanceof RetryLater || error instanceof Fatal || error instanceof Release
}
