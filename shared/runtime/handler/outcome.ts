import { BODY_BYTES_MAX, PROGRESS_BYTES_MAX } from '../../core/bounds.ts'
import { delayProblem, priorityProblem, stageProblem, wholeDelay } from '../../core/rules/rules.ts'
import type { NextStage, Outcome } from '../../core/run/run.ts'
import { errorOfThrown, type TaskError } from '../../core/task-error/task-error.ts'
import { circularAt, JSON_DEPTH_MAX, type Json, jsonBytes, jsonProblem } from '../../core/values/json.ts'
import { Fatal, Next, Release, RetryLater, signalIn } from '../../signals.ts'

/**
 * Turns a handler's return value into the outcome of its run. A result that cannot be stored fails the task for good. So
 * does a result of more than `room` bytes, which is what a flow's parameters leave for it.
 */
export function outcomeOfResult(result: unknown, room = BODY_BYTES_MAX, what = 'result'): Outcome {
  if (result instanceof Release) return released(result)
  const isMovedOn = result instanceof Next
  const value = storable(
    what,
    isMovedOn ? result.result : result,
    Math.max(0, Math.min(room, BODY_BYTES_MAX)),
  )
  if (!value.ok) return unstorable('InvalidResult', value.message)
  const done: Outcome = { outcome: 'succeed', ...('json' in value && { result: value.json }) }
  if (!isMovedOn) return done
  const input = storable('input of the next stage', result.input, BODY_BYTES_MAX)
  if (!input.ok) return unstorable('InvalidNext', input.message)
  const problem = problemOfNext(result)
  if (problem !== undefined) return unstorable('InvalidNext', problem)
  const { stage, priority, delayMs } = result
  const next: NextStage = {
    stage,
    ...('json' in input && { input: input.json }),
    ...(priority !== undefined && { priority }),
    ...(delayMs !== undefined && { delayMs: wholeDelay(delayMs) }),
  }
  return { ...done, next }
}

/**
 * What is wrong with a `Next`, if anything. Its constructor refuses wrong values, but a subclass, or code that changes the
 * signal later, may still bring them.
 */
function problemOfNext({ stage, priority, delayMs }: Next): string | undefined {
  const problems = [
    ['stage', stageProblem(stage)],
    ['priority', priority === undefined ? undefined : priorityProblem(priority)],
    ['delayMs', delayMs === undefined ? undefined : delayProblem(delayMs)],
  ]
  const found = problems.find(([, problem]) => problem !== undefined)
  return found && `next: ${found[0]} ${found[1]}`
}

/** The outcome of a `Release`. One whose delay cannot be stored fails and costs a retry. */
function released({ delayMs }: Release): Outcome {
  const problem = delayProblem(delayMs)
  return problem === undefined
    ? { outcome: 'release', delayMs: wholeDelay(delayMs) }
    : { outcome: 'fail', error: { name: 'InvalidRelease', message: `Release: delayMs ${problem}` } }
}

type Storable =
  | { readonly ok: true; readonly json: Json }
  | { readonly ok: true }
  | { readonly ok: false; readonly message: string }

/** The value as JSON that can be stored, or what is wrong with it. Undefined counts as no value. */
function storable(what: string, value: unknown, most: number): Storable {
  if (value === undefined) return { ok: true }
  const circle = circularAt(value)
  if (circle !== undefined) return { ok: false, message: `${what} is circular at ${circle}; it must be JSON` }
  const plain = toJson(value)
  const problem = jsonProblem(plain)
  if (problem) return { ok: false, message: `${what} ${problem.path} ${problem.message}`.replace('  ', ' ') }
  const bytes = jsonBytes(plain as Json)
  if (bytes <= most) return { ok: true, json: plain as Json }
  return { ok: false, message: `the ${what} has ${bytes} bytes; at most ${most} are kept` }
}

function unstorable(name: string, message: string): Outcome {
  return { outcome: 'fail', fatal: true, error: { name, message } }
}

/** Converts values that define `toJSON`, such as dates. All other values are kept as they are and checked afterwards. */
function toJson(value: unknown, depth = 0): unknown {
  // Values that nest deeper are refused later.
  if (typeof value !== 'object' || value === null || depth > JSON_DEPTH_MAX) return value
  if (Array.isArray(value)) return value.map(member => toJson(member, depth + 1))
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON()
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, toJson(member, depth + 1)]))
}

/** The outcome of a run whose handler threw. */
export function outcomeOfThrown(thrown: unknown): Outcome {
  const signal = signalIn(thrown)
  if (signal instanceof Release) return released(signal)
  const error = errorOfThrown(thrown)
  if (signal instanceof Fatal) return { outcome: 'fail', error, fatal: true }
  if (signal instanceof RetryLater) return retriedLater(signal, error)
  return { outcome: 'fail', error }
}

/** The outcome of a `RetryLater`. If its delay cannot be stored, the task's backoff applies, and the error says so. */
function retriedLater({ delayMs }: RetryLater, error: TaskError): Outcome {
  const problem = delayProblem(delayMs)
  if (problem === undefined) return { outcome: 'fail', error, retryInMs: wholeDelay(delayMs) }
  const message = `RetryLater: delayMs ${problem}; it was thrown for: ${error.message}`
  return { outcome: 'fail', error: { ...error, name: 'InvalidRetryLater', message } }
}

/** @throws TypeError for progress that is not JSON, with the path of the wrong value, and for progress of more than 1 KB. */
export function refuseUnstorable(value: Json): void {
  const problem = jsonProblem(value)
  if (problem) throw new TypeError(`progress ${problem.path} ${problem.message}`)
  const bytes = jsonBytes(value)
  if (bytes > PROGRESS_BYTES_MAX) {
    throw new TypeError(`progress has ${bytes} bytes; at most ${PROGRESS_BYTES_MAX} are kept`)
  }
}
