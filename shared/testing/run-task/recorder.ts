import { type DerivedBody, derivedBody } from '../../api/publish.ts'
import { BatonError } from '../../core/errors.ts'
import { taskId } from '../../core/task/task.ts'
import { defined, type Json } from '../../core/values/json.ts'
import type { RunContext } from '../../define/definitions.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import { handlerContext } from '../../runtime/handler/handler.ts'
import { createRunLog } from '../../runtime/handler/run-log.ts'
import { check } from '../../service/operation.ts'

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

/** A line that the handler has logged. */
export type RecordedLine = { readonly level: keyof Log; readonly message: string; readonly fields: LogFields }

type Published = DerivedBody & { readonly id: string }

/** The context of one run, and what the handler did with it. */
export function createRecorder(type: string, options: RunTaskOptions) {
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
export function asJson<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}

function record(published: Published[], publication: DerivedBody): { id: string; created: boolean } {
  const checked = check(derivedBody, publication)
  if (!checked.ok) {
    const { problems } = checked
    const text = problems.map(({ path, message }) => `${path} ${message}`).join('; ')
    throw new BatonError('invalid', text, { problems })
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
