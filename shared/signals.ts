/**
 * The signals by which a handler decides how its run ends. It throws `RetryLater`, `Fatal` or `Release`. They are found
 * through `cause`, so a wrapped signal still counts. It returns `Next` to move its task to another stage. `instanceof` also
 * recognises the signals of another copy of this library.
 */

import { delayProblem, priorityProblem, stageProblem, wholeDelay } from './core/rules/rules.ts'
import { recogniseAcrossCopies } from './core/values/values.ts'

/**
 * Thrown by a handler to retry after `delayMs` milliseconds instead of the type's backoff. It always costs a retry. Under retry
 * scope `worker` it delays only its own worker of a task for several.
 *
 * @throws RangeError when `delayMs` is not a number from 0 to ten years in milliseconds
 */
export class RetryLater extends Error {
  static {
    recogniseAcrossCopies(RetryLater, 'RetryLater')
  }

  override readonly name = 'RetryLater'
  readonly delayMs: number

  constructor(delayMs: number, message = `retry in ${delayMs} ms`, options?: ErrorOptions) {
    refuse('RetryLater: delayMs', delayProblem(delayMs))
    super(message, options)
    this.delayMs = wholeDelay(delayMs)
  }
}

/** Thrown by a handler to fail its task at once, without another retry. */
export class Fatal extends Error {
  static {
    recogniseAcrossCopies(Fatal, 'Fatal')
  }

  override readonly name = 'Fatal'
}

/**
 * Thrown or returned by a handler to give its task back. The task can be claimed again after `delayMs` milliseconds
 * (default 0). It costs no retry.
 *
 * @throws RangeError when `delayMs` is not a number from 0 to ten years in milliseconds
 */
export class Release extends Error {
  static {
    recogniseAcrossCopies(Release, 'Release')
  }

  override readonly name = 'Release'
  readonly delayMs: number

  constructor(delayMs = 0) {
    refuse('Release: delayMs', delayProblem(delayMs))
    super(`released for ${delayMs} ms`)
    this.delayMs = wholeDelay(delayMs)
  }
}

/** What changes about a task when it moves to another stage. A field that is left out stays as it is. */
export type NextOptions<Input = unknown> = {
  /** Replaces the task's input. @default the input stays */
  readonly input?: Input
  /** Replaces the task's priority; higher is more urgent. @default the priority stays */
  readonly priority?: number
  /** How long the next stage waits before it may run, in milliseconds. @default 0 */
  readonly delayMs?: number
  /** The result of this stage, stored with its run, as JSON. @default none */
  readonly result?: unknown
}

/** Returned by a handler, as `ctx.next(…)` makes it: this stage succeeded, and the task is dispatched again for the stage that it names. */
export class Next {
  static {
    recogniseAcrossCopies(Next, 'Next')
  }

  /** Distinguishes a `Next` from a result that looks like one. */
  readonly kind = 'baton-next'
  readonly stage: string
  readonly input: unknown
  readonly priority: number | undefined
  readonly delayMs: number | undefined
  readonly result: unknown

  /**
   * The runtime checks later that input and result are JSON.
   *
   * @throws RangeError when the stage, the priority or the delay cannot be stored
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

const CAUSE_DEPTH_MAX = 10

/** The signal in an error or in its causes, at most ten levels deep. */
export function signalIn(error: unknown): Signal | undefined {
  let current = error
  for (let depth = 0; depth < CAUSE_DEPTH_MAX && current instanceof Error; depth++) {
    if (current instanceof RetryLater || current instanceof Fatal || current instanceof Release)
      return current
    current = current.cause
  }
  return undefined
}
