import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Body } from '../../../shared/core/task/head-fields.ts'
import { type EndedRun, liveRuns, type Task } from '../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../world/history.ts'
import type { Invariant, Write } from './invariant.ts'
import { endsOf, retryTimeOf } from './pieces.ts'

type ReportAnswer = Extract<HistoryEvent, { readonly what: 'report-answer' }>

/** A run that has ended: its head before and after that write. */
type End = { readonly before: Task; readonly after: Task; readonly fence: number }

/** Promises about the answers to reports and heartbeats of HTTP workers. */
export const REPORT_ANSWER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'the answer to a report of a run matches what is stored',
    watch: ({ trial }) => {
      const record = createRecord()
      return {
        on: event => {
          if (event.what === 'write') record.see(event)
          if (event.what === 'expired') record.forget(event.id)
          // `sizes.ts` judges how much room a flow has.
          if (event.what !== 'report-answer' || event.refused === 'no-room') return undefined
          const fault =
            event.refused === undefined
              ? faultOfAccepted(event, record.endOf(event))
              : faultOfRefused(event, record, trial === 'reports')
          return fault && `${JSON.stringify(event.reported)} of ${event.id} (fence ${event.fence}) ${fault}`
        },
      }
    },
  },
]

type RunName = Pick<ReportAnswer, 'id' | 'born' | 'fence'>

function createRecord() {
  const heads = new Map<string, Task>()
  const ends = new Map<string, End>()
  const nameOf = ({ id, born, fence }: RunName) => `${id} ${born} ${fence}`
  return {
    see: ({ before, after }: Write) => {
      heads.set(after.id, after)
      if (before?.born !== after.born || after.state === 'removed') return
      for (const { fence } of Object.values(before.live)) {
        if (!after.live[fence]) ends.set(nameOf({ ...after, fence }), { before, after, fence })
      }
    },
    /** A head that the table has deleted counts as removed. */
    forget: (id: string) => void heads.delete(id),
    endOf: (run: RunName) => ends.get(nameOf(run)),
    /** Whether the birth of the run is over. */
    isGone: ({ id, born }: RunName) => heads.get(id)?.born !== born || heads.get(id)?.state === 'removed',
    /** Whether the head still shows how the run ended. */
    isShown: ({ id, fence }: RunName) => {
      const head = heads.get(id)
      return head !== undefined && endsOf(head)[fence] !== undefined
    },
  }
}

function faultOfAccepted({ reported }: ReportAnswer, end: End | undefined): string | undefined {
  if (reported === 'beat') return undefined
  if (!end) return 'was accepted, but the run has not ended'
  const difference = differenceOf(reported, end)
  return difference && `was accepted, but ${difference}`
}

function faultOfRefused(
  answer: ReportAnswer,
  record: ReturnType<typeof createRecord>,
  areRunsKept: boolean,
): string | undefined {
  const { refused = '', reported, isOnlyReport } = answer
  if (refused.startsWith('unknown')) return undefined
  if (refused === 'removed')
    return record.isGone(answer) ? undefined : 'was refused as removed, but the task is stored'
  const end = record.endOf(answer)
  if (!end) return `was refused as ${refused}, but the run has not ended`
  const isForgotten = refused === 'ended' && !record.isShown(answer)
  if (!isForgotten && refused !== reasonOf(end))
    return `was refused as ${refused}, but the run is ${reasonOf(end)}`
  const isRepeat =
    reported !== 'beat' && isOnlyReport && areRunsKept && differenceOf(reported, end) === undefined
  return isRepeat && refused === 'ended' ? 'was refused, although the worker made no other report' : undefined
}

/** Why the ended run accepts no further report. */
function reasonOf({ after, fence }: End): string {
  const { state, cause } = recordOf(after, fence)
  return cause ?? (state === 'lost' || state === 'cancelled' ? state : 'ended')
}

type Recorded = Pick<EndedRun, 'state'> & Partial<Pick<EndedRun, 'cause' | 'result' | 'error'>>

/** The record of the run in the head that ended it. A flow keeps the successes of its steps with the steps. */
function recordOf({ ended, flow }: Task, fence: number): Recorded {
  const result = Object.values(flow?.steps ?? {}).find(step => step.do.fence === fence)?.result
  return ended[fence] ?? { state: 'succeeded', ...(result && { result }) }
}

/** How what is stored differs from the report, as far as the head shows it. */
function differenceOf(reported: Outcome, { before, after, fence }: End): string | undefined {
  const record = recordOf(after, fence)
  const state = { succeed: 'succeeded', fail: 'failed', release: 'released' }[reported.outcome]
  if (record.state !== state) return `the run has ${record.state}`
  // With several runs the last of them decides what becomes of the task. A passed deadline ends it in any case.
  const isAlone = before.options.concurrency === 1 && !after.flow && after.deadlineAt === undefined
  const change = isAlone ? { before, after } : undefined
  switch (reported.outcome) {
    case 'succeed':
      return differenceOfSuccess(reported, record.result, change)
    case 'fail':
      return differenceOfError(reported, record.error) ?? (change && differenceOfRetry(reported, change))
    case 'release':
      return change && differenceOfDelay(reported.delayMs ?? 0, change)
  }
}

function differenceOfError(
  { error: { message } }: Extract<Outcome, { outcome: 'fail' }>,
  stored: EndedRun['error'],
): string | undefined {
  return stored?.message === message ? undefined : `its error is '${stored?.message}'`
}

type Change = Pick<End, 'before' | 'after'>

function differenceOfSuccess(
  { result, next }: Extract<Outcome, { outcome: 'succeed' }>,
  stored: Body | undefined,
  change: Change | undefined,
): string | undefined {
  const isShown = stored !== undefined && 'inline' in stored
  if (isShown && JSON.stringify(stored.inline) !== JSON.stringify(result))
    return `its result is ${JSON.stringify(stored.inline)}`
  if (!change) return undefined
  const { before, after } = change
  const stage = after.state === 'open' && after.stage !== before.stage ? after.stage : undefined
  return stage === next?.stage ? undefined : `the task moved to ${stage ?? 'no stage'}`
}

function differenceOfRetry(
  { fatal = false, retryInMs }: Extract<Outcome, { outcome: 'fail' }>,
  { before, after }: Change,
): string | undefined {
  const hasBudget = before.options.retry.scope === 'task' && before.failures < before.options.retry.maxRetries
  if (after.state === 'open' && fatal) return 'it is retried'
  if (after.state !== 'open' && !fatal && hasBudget) return 'it is not retried'
  const [run] = liveRuns(before)
  const retryAt = retryTimeOf(after, run?.workerId ?? '')
  if (retryAt === undefined) return undefined
  const delayMs = retryAt - after.updatedAt
  const isOther = after.state === 'open' && retryInMs !== undefined && delayMs !== retryInMs
  return isOther ? `it is retried after ${delayMs} ms` : undefined
}

function differenceOfDelay(delayMs: number, { before, after }: Change): string | undefined {
  const dueAt = delayMs > 0 ? after.updatedAt + delayMs : before.dueAt
  return after.dueAt === dueAt ? undefined : `the task is due ${after.dueAt - dueAt} ms later than that`
}
