/**
 * The call of a handler, the same in functions, in all kinds of workers, in the process of an isolated run, and in `runTask` of the
 * testing kit. This room knows no store and no queue.
 *
 * - `callHandler` below: the input, the call with its local retries, and the outcome; `handlerContext`: what the handler gets besides
 *   its input
 * - `outcomeOfResult` and `outcomeOfThrown`: what its return value or error means
 * - `run-log.ts`: the log of a run
 */

import { BODY_BYTES_MAX, PROGRESS_BYTES_MAX } from '../../core/bounds.ts'
import { delayProblem, priorityProblem, stageProblem, wholeDelay } from '../../core/rules/rules.ts'
import type { NextStage, Outcome } from '../../core/run/run.ts'
import { redactionOf } from '../../core/task-error/redact.ts'
import { errorOfThrown, type TaskError } from '../../core/task-error/task-error.ts'
import type { Json } from '../../core/values/values.ts'
import { BatonError, circularAt, JSON_DEPTH_MAX, jsonBytes, jsonProblem } from '../../core/values/values.ts'
import type { ChildPublication, RunContext, TaskDefinition } from '../../define/definitions.ts'
import type { Log } from '../../ports/machine.ts'
import type { KeptRun, RunContent, RunFacts } from '../../ports/runs.ts'
import { Fatal, Next, Release, RetryLater, signalIn } from '../../signals.ts'
import type { RunLog } from './run-log.ts'

type HandlerCall = {
  readonly definition: TaskDefinition
  readonly context: RunContext
  /** Reads what the handler gets. What it throws ends the run as if the handler had thrown it. */
  content(): Promise<RunContent>
  /** From the parsing of the input on, it hides the values that the definition marks. */
  readonly runLog?: Pick<RunLog, 'hide' | 'log'>
  /** How often a handler that fails is called again. @default 0 */
  readonly localRetries?: number
  /** The most bytes of the result. @default what any task may have */
  readonly resultBytesMax?: number | undefined
}

/** Calls the handler with its parsed input, and says how its run ends. Never rejects. */
export async function callHandler(call: HandlerCall): Promise<Outcome> {
  try {
    const { input, ...content } = await call.content()
    const { definition, runLog } = call
    runLog?.hide(redactionOf(definition.redact ?? [], [input, content.params, content.previous]))
    const parsed = await parsedInput(input, definition)
    return await repeated(call, parsed, { ...call.context, ...content })
  } catch (thrown) {
    return outcomeOfThrown(thrown)
  }
}

/** Calls the handler until it succeeds, asks for something else than a retry, or has no local retry left. */
async function repeated(call: HandlerCall, input: unknown, context: RunContext): Promise<Outcome> {
  const { signal } = context
  for (let repetition = 0; ; repetition++) {
    // The run was stopped before the handler began. Another worker may run the task already.
    if (signal.aborted) throw signal.reason
    const outcome = await calledOnce(call, input, context)
    const isRepeatable = outcome.outcome === 'fail' && !outcome.fatal && outcome.retryInMs === undefined
    if (!isRepeatable || repetition >= (call.localRetries ?? 0) || signal.aborted) return outcome
    const { error } = outcome
    call.runLog?.log.info('the handler failed and is called again in the same run', { repetition, error })
  }
}

async function calledOnce(call: HandlerCall, input: unknown, context: RunContext): Promise<Outcome> {
  try {
    const result = await call.definition.run(input, context)
    return outcomeOfResult(result, call.resultBytesMax, `result of ${context.type}`)
  } catch (thrown) {
    return outcomeOfThrown(thrown)
  }
}

/**
 * An input, parsed by the definition's schema.
 *
 * @throws Fatal when the input does not fit the schema.
 */
export async function parsedInput(value: unknown, definition: TaskDefinition): Promise<unknown> {
  if (!definition.input) return value
  const parsed = await definition.input['~standard'].validate(value)
  if (!parsed.issues) return parsed.value
  const problems = parsed.issues.map(issue => `${pathOf(issue.path)}: ${issue.message}`)
  throw new Fatal(`input does not fit ${definition.type}: ${problems.join('; ')}`)
}

function pathOf(path: ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined): string {
  const parts = (path ?? []).map(part => String(typeof part === 'object' ? part.key : part))
  return parts.length > 0 ? parts.join('.') : 'input'
}

type Reached = Pick<KeptRun, 'record' | 'publish'> & {
  /** Aborts the signal of a run that is over, if no timer has done that yet. */
  refresh?(): void
  readonly signal: AbortSignal
  /** Aborts when the run is over, also by its own end. From then on, nothing is published for it. */
  readonly over: AbortSignal
  readonly log: Log
}

/** What the handler of a run gets besides its input and its content. */
export function handlerContext(
  facts: RunFacts,
  { record, publish, refresh, signal, over, log }: Reached,
): RunContext {
  return {
    ...facts,
    signal,
    progress: value => {
      refuseUnstorable(value)
      record(value)
    },
    next: (stage, options) => {
      if (facts.step === undefined) return new Next(stage, options)
      throw new Fatal(`${facts.taskId} is a flow: its steps have no further stages`)
    },
    publish: async publication => {
      refresh?.()
      // A fence cannot refuse the new task, because it is a task like any other.
      if (over.aborted) throw runIsOver(publication, over)
      return publish(publication)
    },
    log,
  }
}

function runIsOver({ type, key }: ChildPublication, { reason }: AbortSignal): BatonError {
  const what = key === undefined ? `a task of '${type}'` : `${type}:${key}`
  const why = reason instanceof Error ? reason.message : 'the run is over'
  return new BatonError('refused', `${what} is not published: ${why}`, { cause: reason })
}

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
function refuseUnstorable(value: Json): void {
  const problem = jsonProblem(value)
  if (problem) throw new TypeError(`progress ${problem.path} ${problem.message}`)
  const bytes = jsonBytes(value)
  if (bytes > PROGRESS_BYTES_MAX) {
    throw new TypeError(`progress has ${bytes} bytes; at most ${PROGRESS_BYTES_MAX} are kept`)
  }
}
