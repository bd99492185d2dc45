/**
 * What a handler throws to say how its run ends, each found through `cause`, so that a wrapped one still counts; and
 * what it returns to move its task on.
 */

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

/** How a task goes on in its next stage; what is not given stays as it is. */
export type NextOptions<Input = unknown> = {
  /** Replaces the task's input. */
  readonly input?: Input
  readonly priority?: number
  readonly delayMs?: number
  /** What this stage has achieved, kept with its run. */
  readonly result?: unknown
}

/** Returned, not thrown: this stage succeeded, and the task is to be dispatched anew for the next one. */
export class Next {
  /** Keeps results that look alike from being taken for one. */
  readonly kind = 'baton-next'
  readonly stage: string
  readonly input: unknown
  readonly priority: number | undefined
  readonly delayMs: number | undefined
  readonly result: unknown

  /** Input and result are as a handler gave them: whoever stores them checks that they are JSON. */
  constructor(stage: string, { input, priority, delayMs, result }: NextOptions = {}) {
    this.stage = stage
    this.input = input
    this.priority = priority
    this.delayMs = delayMs
    this.result = result
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
