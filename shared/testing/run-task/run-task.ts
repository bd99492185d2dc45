import type { DerivedBody } from '../../api/publish.ts'
import { BatonError } from '../../core/errors.ts'
import { backoffMs } from '../../core/run/judge-budget.ts'
import type { NextStage, Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { defined, type Json } from '../../core/values/json.ts'
import type { AnyTask, InputOf, OutputOf, TaskDefinition } from '../../define/definitions.ts'
import { callHandler } from '../../runtime/handler/handler.ts'
import { typeOptions } from '../../runtime/publish/resolve-publication.ts'
import { asJson, createRecorder, type RecordedLine, type RunTaskOptions } from './recorder.ts'

/** How one run of a handler ended, as the system would record it. */
export type TaskRun<Result = unknown> = {
  /**
   * - `succeeded`: the task has ended with `result`;
   * - `next`: the task goes on in the stage `next`;
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
 * @throws BatonError `invalid` for what is no task, and for wrong options.
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
    throw new BatonError('invalid', `runTask: give what defineTask returns${hint}`)
  }
  if (!Number.isInteger(attempt) || attempt < 1) {
    throw new BatonError('invalid', `runTask: attempt is ${attempt}; give a whole number from 1 up`)
  }
  if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
    throw new BatonError('invalid', `runTask: timeoutMs is ${timeoutMs}; give milliseconds, 0 or more`)
  }
}

type Ended = Omit<TaskRun, 'logs' | 'progress' | 'published'>
type Recorder = ReturnType<typeof createRecorder>

async function attemptOnce(
  definition: AnyTask,
  input: Json | undefined,
  options: RunTaskOptions,
  { context, runLog, stopOn }: Recorder,
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
