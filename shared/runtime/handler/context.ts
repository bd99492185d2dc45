import { BatonError } from '../../core/errors.ts'
import type { ChildPublication, RunContext } from '../../define/task-context.ts'
import type { Log } from '../../ports/machine.ts'
import type { KeptRun, RunFacts } from '../../ports/runs.ts'
import { Fatal, Next } from '../../signals.ts'
import { refuseUnstorable } from './outcome.ts'

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
