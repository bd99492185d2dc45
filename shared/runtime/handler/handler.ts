/**
 * The call of a handler, the same in functions, in all kinds of workers, in the process of an isolated run, and in `runTask` of the
 * testing kit. This room knows no store and no queue.
 *
 * - `callHandler` below: the input, the call with its local retries, and the outcome; `handlerContext`: what the handler gets besides
 *   its input
 * - `outcome.ts`: what its return value or error means
 * - `run-log.ts`: the log of a run
 */

import { BatonError } from '../../core/errors.ts'
import type { Outcome } from '../../core/run/run.ts'
import { redactionOf } from '../../core/task-error/redact.ts'
import type { ChildPublication, RunContext, TaskDefinition } from '../../define/definitions.ts'
import type { Log } from '../../ports/machine.ts'
import type { KeptRun, RunContent, RunFacts } from '../../ports/runs.ts'
import { Fatal, Next } from '../../signals.ts'
import { outcomeOfResult, outcomeOfThrown, refuseUnstorable } from './outcome.ts'
import type { RunLog } from './run-log.ts'

export type HandlerCall = {
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

/** What a handler reaches through its context. */
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
      throw new Fatal(`${facts.taskId} is a flow: its steps have no stages to go on with`)
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
