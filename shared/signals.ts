/**
 * What a handler throws to say how its run ends, each found through `cause`, so that a wrapped one still counts; and
 * what it returns to move its task on.
 */

import { delayProblem, priorityProblem, stageProblem, wholeDelay } from './core/rules/signal-bounds.ts'

/** Try again after `delayMs`, in place of the type's backoff. Always costs a retry. @throws RangeError for a delay that is none. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly delayMs: number

  constructor(delayMs: number, message = `retry in ${delayMs} ms`, options?: ErrorOptions) {
    refuse('RetryLater: delayMs', delayProblem(delayMs))
    super(message, options)
    this.delayMs = wholeDelay(delayMs)
  }
}

/** Do not try again: the task fails. */
export class Fatal extends Error {
  override readonly name = 'Fatal'
}

/** Give the task back unharmed, to be claimed again after `delayMs`. Costs no retry. May also be returned. @throws RangeError for a delay that is none. */
export class Release extends Error {
  override readonly name = 'Release'
  readonly delayMs: number

  constructor(delayMs = 0) {
    refuse('Release: delayMs', delayProblem(delayMs))
    super(`released for ${delayMs} ms`)
    this.delayMs = wholeDelay(delayMs)
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

  /**
   * Input and result stay as the handler gave them: the runtime checks that they are JSON.
   *
   * @throws RangeError for a stage, priority or delay that cannot be stored.
   */
  constructor(stage: string, { input, priority, delayMs, result }: NextOptions = {}) {
    refuse('next: stage', stageProblem(stage))
    if (priority !== undefined) refuse('next: priority', priorityProblem(priority))
    if (delayMs !== undefined) refuse('next: delayMs', delayProblem(delayMs))
    this.stage = stage
    this.input = input
    this.priority = priority
    this.delayMs = delayMs === undefined ? undefined : wholeDelay(delayMs)
    this.result = result
  }
}

function refuse(argument: string, problem: string | undefined): void {
  if (problem !== undefined) throw new RangeError(`${argument} ${problem}`)
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
