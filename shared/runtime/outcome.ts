import { deadlineExceeded } from '../core/deadline.ts'
import type { Outcome } from '../core/finish.ts'
import { type Json, jsonBytes, jsonProblem } from '../core/json.ts'
import { MAX_BODY_BYTES } from '../core/limits.ts'
import type { Task, TaskError } from '../core/task.ts'
import { Fatal, Release, RetryLater, signalIn } from '../signals.ts'
import type { StopReason } from './hold-run.ts'

/** A handler's return value as the end of its run. A result that cannot be stored fails the task for good. */
export function outcomeOfResult(result: unknown): Outcome {
  if (result instanceof Release) return { outcome: 'release', delayMs: result.delayMs }
  if (result === undefined) return { outcome: 'succeed' }
  const plain = toJson(result)
  const problem = jsonProblem(plain)
  if (problem) return unstorable(`result ${problem.path} ${problem.message}`.replace('  ', ' '))
  const bytes = jsonBytes(plain as Json)
  if (bytes > MAX_BODY_BYTES)
    return unstorable(`the result has ${bytes} bytes; at most ${MAX_BODY_BYTES} are kept`)
  return { outcome: 'succeed', result: plain as Json }
}

function unstorable(message: string): Outcome {
  return { outcome: 'fail', fatal: true, error: { name: 'InvalidResult', message } }
}

/** Dates and other values that say themselves what they are in JSON are taken at their word; the rest is checked. */
function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON()
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, toJson(member)]))
}

/** What a thrown error, or being told to stop, means for the run. */
export function outcomeOfError(thrown: unknown, stopped: StopReason | undefined, task: Task): Outcome {
  if (stopped === 'stopping') return { outcome: 'release' }
  if (stopped === 'deadline') return { outcome: 'fail', error: deadlineExceeded(task) }
  if (stopped === 'out-of-time') return timedOut('the run took longer than its function may')
  if (stopped === 'timed-out') return timedOut(`the run took longer than ${task.options.timeoutMs} ms`)
  return outcomeOfThrown(thrown)
}

/** What a handler threw of its own accord. */
export function outcomeOfThrown(thrown: unknown): Outcome {
  const signal = signalIn(thrown)
  if (signal instanceof Release) return { outcome: 'release', delayMs: signal.delayMs }
  const error = errorOf(thrown)
  if (signal instanceof Fatal) return { outcome: 'fail', error, fatal: true }
  if (signal instanceof RetryLater) return { outcome: 'fail', error, retryInMs: signal.delayMs }
  return { outcome: 'fail', error }
}

function timedOut(message: string): Outcome {
  return { outcome: 'fail', error: { name: 'TimedOut', message } }
}

/** Anything thrown, as name, message and stack. */
function errorOf(thrown: unknown): TaskError {
  if (!(thrown instanceof Error)) return { name: 'Error', message: describe(thrown) }
  return {
    name: thrown.name,
    message: thrown.message,
    ...(thrown.stack !== undefined && { stack: thrown.stack }),
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return String(thrown)
  }
}
