import { type DerivedBody, derivedBody } from '../api/publish.ts'
import { backoffMs } from '../core/run/backoff.ts'
import type { NextStage, Outcome } from '../core/run/run.ts'
import { taskId } from '../core/task/task.ts'
import type { TaskError } from '../core/task-error/task-error.ts'
import { defined, illegal, type Json } from '../core/values/values.ts'
import type { AnyTask, InputOf, OutputOf, RunContext, TaskDefinition } from '../define/definitions.ts'
import type { Log, LogFields } from '../ports/machine.ts'
import { callHandler, handlerContext } from '../runtime/handler/handler.ts'
import { createRunLog } from '../runtime/handler/run-log.ts'
import { typeOptions } from '../runtime/publish/resolve-publication.ts'
import { check } from '../service/operation.ts'

/** How one run of a handler ended, as the system would record it. */
export type TaskRun<Result = unknown> = {
  /**
   * - `succeeded`: the task has ended with `result`;
   * - `next`: the task continues in the stage `next`;
   * - `retry`: the run has failed with `error`, and the task is tried again after `retryInMs`;
   * - `failed`: the run has failed with `error`, and the task with it: by `Fatal`, or because no retry is left;
   * - `released`: the handler gave the task back for `delayMs`;
   * - `stopped`: `signal` has aborted, so nothing of the run counts.
   */
  readonly outcome: 'succeeded' | 'next' | 'retry' | 'failed' | 'released' | 'stopped'
  /** The result as JSON gives it back. */
  readonly result?: Result
  readonly next?: NextStage
  /** The error as the system would store it. */
  readonly error?: TaskError
  /** What the handler threw. */
  readonly thrown?: unknown
  /** The time until the next attempt: of `RetryLater`, or the backoff without its jitter. */
  readonly retryInMs?: number
  readonly delayMs?: number
  readonly logs: readonly RecordedLine[]
  /** The values that the handler gave to `ctx.progress`. */
  readonly progress: readonly Json[]
  /** The tasks that the handler has published, with the ids that it got. */
  readonly published: ReadonlyArray<DerivedBody & { readonly id: string }>
}

/**
 * Runs the handler of a task once, with a whole context, and returns how the run ended. The input is parsed by the task's
 * schema. Nothing is published: `ctx.publish` records what it is given. Errors of the handler do not reject.
 *
 * ```ts
 * const { result, logs } = await runTask(resize, { url, width: 200 }, { attempt: 2 })
 * ```
 *
 * After `signal` or `timeoutMs` the call waits until the handler has ended, so a handler that ignores its signal shows.
 *
 * @throws BatonError `invalid` for what is not a task, and for wrong options.
 */
export async function runTask<D extends AnyTask>(
  definition: D,
  input?: InputOf<D>,
  options: RunTaskOptions = {},
): Promise<TaskRun<OutputOf<D>>> {
  refuseWrong(definition, options)
  const recorder = createRecorder(definition.type, options)
  const ended = await attemptOnce(definition, asJson(input) as Json | undefined, options, recorder)
  const { logs, progress, published } = recorder
  return { ...ended, logs, progress, published } as TaskRun<OutputOf<D>>
}

function refuseWrong(
  { kind, type }: { readonly kind: string; readonly type: string },
  options: RunTaskOptions,
): void {
  const { attempt = 1, timeoutMs } = options
  if (kind !== 'baton-task') {
    const hint = kind === 'baton-flow' ? `; '${type}' is a flow, which createTestSystem runs` : ''
    throw illegal(`runTask: give what defineTask returns${hint}`)
  }
  if (!Number.isInteger(attempt) || attempt < 1) {
    throw illegal(`runTask: attempt is ${attempt}; give a whole number from 1 up`)
  }
  if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
    throw illegal(`runTask: timeoutMs is ${timeoutMs}; give milliseconds, 0 or more`)
  }
}

type Ended = Omit<TaskRun, 'logs' | 'progress' | 'published'>
async function attemptOnce(
  definition: AnyTask,
  input: Json | undefined,
  options: RunTaskOptions,
  { context, runLog, stopOn }: ReturnType<typeof createRecorder>,
): Promise<Ended> {
  const stopped = stopOn()
  let reaction: { readonly thrown: unknown } | undefined
  const watched: AnyTask = {
    ...definition,
    run: async (...given) => {
      try {
        return await definition.run(...given)
      } catch (thrown) {
        reaction = { thrown }
        throw thrown
      }
    },
  }
  const outcome = await callHandler({
    ...{ definition: watched as TaskDefinition, context, runLog },
    content: async () => defined({ input, params: context.params, previous: context.previous }),
  })
  stopped.end()
  if (stopped.reason() === 'signal') return { outcome: 'stopped', ...reaction }
  const counted = stopped.reason() === 'timeout' ? timedOut(options) : runLog.endWithLog(outcome)
  return { ...ending(definition, counted, options), ...reaction }
}

function timedOut({ timeoutMs }: RunTaskOptions): Outcome {
  return { outcome: 'fail', error: { name: 'TimedOut', message: `the run took longer than ${timeoutMs} ms` } }
}

function ending({ config }: AnyTask, outcome: Outcome, { attempt = 1 }: RunTaskOptions): Ended {
  switch (outcome.outcome) {
    case 'succeed': {
      const result = 'result' in outcome ? { result: asJson(outcome.result) } : {}
      return outcome.next
        ? { outcome: 'next', next: outcome.next, ...result }
        : { outcome: 'succeeded', ...result }
    }
    case 'release':
      return { outcome: 'released', delayMs: outcome.delayMs ?? 0 }
    case 'fail': {
      const { error, fatal, retryInMs } = outcome
      const { retry } = typeOptions(config)
      if (fatal || attempt > retry.maxRetries) return { outcome: 'failed', error }
      return { outcome: 'retry', error, retryInMs: retryInMs ?? backoffMs(retry, attempt, 0) }
    }
  }
}

export type RunTaskOptions = {
  /** Which attempt the run is: 1 plus the failed runs before it. @default 1 */
  readonly attempt?: number
  /** The stage of the task. @default none; a task with stages runs its first one */
  readonly stage?: string
  /** The step of a flow that the run does, and whether it does or undoes it. @default none */
  readonly step?: string
  readonly direction?: 'do' | 'undo'
  /** For a step: the flow's input, and the results of the steps before. @default none */
  readonly params?: Readonly<Record<string, unknown>>
  /** What the task before handed on, for a member of a canvas or a callback. @default none */
  readonly previous?: unknown
  /** The key of the task. @default 'test' */
  readonly key?: string
  /** Ends the run when it aborts, as a cancelled or lost run ends: the handler's `ctx.signal` aborts. @default never */
  readonly signal?: AbortSignal
  /** Lets the run time out after this real time, in milliseconds. The task's own `timeoutMs` does not apply. @default never */
  readonly timeoutMs?: number
  /** Replaces other members of the context, such as `fence` or `idempotencyKey`. */
  readonly context?: Partial<Omit<RunContext, 'signal' | 'progress' | 'publish' | 'log' | 'next'>>
}

type RecordedLine = { readonly level: keyof Log; readonly message: string; readonly fields: LogFields }

type Published = DerivedBody & { readonly id: string }

function createRecorder(type: string, options: RunTaskOptions) {
  const { attempt = 1, key = 'test', stage, step, direction = 'do', params, previous } = options
  const logs: RecordedLine[] = []
  const progress: Json[] = []
  const published: Published[] = []
  const stopping = new AbortController()
  const line =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) =>
      void logs.push({ level, message, fields })
  const runLog = createRunLog(
    {
      log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
      clock: NO_CLOCK,
    },
    {},
  )
  const facts = {
    taskId: taskId(type, key),
    ...{ type, key, runId: 'test-run', attempt, fence: attempt },
    idempotencyKey: [
      taskId(type, key),
      'test',
      stage ?? step ?? '',
      step === undefined ? '' : direction,
    ].join('/'),
    ...defined({ stage, step, params: asJson(params), previous: asJson(previous) }),
    ...(step !== undefined && { direction }),
    ...options.context,
  }
  const { signal } = stopping
  const context = handlerContext(facts, {
    ...{ signal, over: signal, log: runLog.log },
    record: value => void progress.push(asJson(value)),
    publish: async publication => record(published, publication),
  })
  return { context, runLog, logs, progress, published, stopOn: () => stopOn(options, stopping) }
}

/** The lines carry no times, because a test has no use for them. */
const NO_CLOCK = { now: () => 0, monotonic: () => 0, sleep: async () => {} }

/** A value as JSON text brings it. */
function asJson<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}

function record(published: Published[], publication: DerivedBody): { id: string; created: boolean } {
  const checked = check(derivedBody, publication)
  if (!checked.ok) {
    const { problems } = checked
    const text = problems.map(({ path, message }) => `${path} ${message}`).join('; ')
    throw illegal(text, { problems })
  }
  const { type, key = `child-${published.length + 1}` } = publication
  const id = taskId(type, key)
  if (published.some(one => one.id === id)) return { id, created: false }
  published.push({ ...asJson(publication), id })
  return { id, created: true }
}

type Reason = 'signal' | 'timeout'

/** Aborts the handler's signal as the options say. The first reason counts. */
function stopOn({ signal, timeoutMs }: RunTaskOptions, stopping: AbortController) {
  let reason: Reason | undefined
  const stop = (why: Reason) => {
    reason ??= why
    stopping.abort(new Error(`the run is over: ${why === 'timeout' ? 'timed-out' : 'stopped by the test'}`))
  }
  const onAbort = () => stop('signal')
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop('timeout'), timeoutMs)
  return {
    reason: () => reason,
    end: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    },
  }
}
