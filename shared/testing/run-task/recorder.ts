import type { DerivedBody } from '../../api/publish.ts'
import { derivedBody } from '../../api/publish.ts'
import { defined } from '../../core/defined.ts'
import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { taskId } from '../../core/task/task.ts'
import type { RunContext } from '../../define/task-context.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import { refuseUnstorable } from '../../runtime/run/outcome.ts'
import { createRunLog } from '../../runtime/run/run-log.ts'
import { check } from '../../service/check.ts'
import { Next } from '../../signals.ts'
import type { RunTaskOptions } from './run-task.ts'

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
  const log = createRunLog(
    {
      log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
      clock: NO_CLOCK,
    },
    {},
  )
  const { debug, info, warn, error } = log
  const context: RunContext = {
    taskId: taskId(type, key),
    type,
    key,
    runId: 'test-run',
    attempt,
    fence: attempt,
    idempotencyKey: [
      taskId(type, key),
      'test',
      stage ?? step ?? '',
      step === undefined ? '' : direction,
    ].join('/'),
    ...defined({
      stage,
      step,
      params: asJson(params) as RunContext['params'],
      previous: asJson(previous) as Json | undefined,
    }),
    ...(step !== undefined && { direction }),
    ...options.context,
    signal: stopping.signal,
    progress: value => {
      refuseUnstorable(value)
      progress.push(asJson(value))
    },
    next: (name, how) => new Next(name, how),
    publish: async publication => record(published, publication, stopping.signal),
    log: { debug, info, warn, error },
  }
  return { context, log, logs, progress, published, stopOn: () => stopOn(options, stopping) }
}

/** The lines carry no times, because a test has no use for them. */
const NO_CLOCK = { now: () => 0, monotonic: () => 0, sleep: async () => {} }

/** A value as JSON text brings it. */
export function asJson<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}

function record(
  published: Published[],
  publication: DerivedBody,
  signal: AbortSignal,
): { id: string; created: boolean } {
  if (signal.aborted)
    throw new BatonError('refused', `a task of '${publication.type}' is not published: the run is over`)
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
