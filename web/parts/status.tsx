import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { ApiRun, ApiStep, ApiTask } from '../../shared/api/tasks.ts'

export type Status = ApiTask['status']
export type Reason = NonNullable<ApiTask['statusReason']>
type State = Status | ApiRun['state'] | ApiStep['state'] | ApiCanvas['items'][number]['status']

/** The colour of each state: one of six, so that a page never shows more. */
const TONES: Readonly<Record<State, string>> = {
  pending: 'idle',
  delayed: 'wait',
  ready: 'wait',
  running: 'busy',
  compensating: 'warn',
  undoing: 'warn',
  succeeded: 'good',
  undone: 'idle',
  failed: 'bad',
  lost: 'bad',
  'undo-failed': 'bad',
  cancelled: 'idle',
  released: 'idle',
  skipped: 'idle',
}

export function toneOf(state: State): string {
  return TONES[state] ?? 'idle'
}

/** All statuses of a task, in the order in which a task takes them. */
export { STATUSES } from '../../shared/core/states.ts'

const REASONS: Readonly<Record<Reason, string>> = {
  due: 'waits for its time',
  retry: 'waits for its retry',
  paused: 'its type is paused',
  'rate-limit': 'waits for its slot',
  'concurrency-limit': 'waits for a permit',
  'target-worker': 'waits for its worker',
  'no-handler': 'nothing serves its type',
  'no-worker': 'no worker is there',
  'callbacks-owed': 'owes callbacks',
}

export function reasonText(reason: Reason): string {
  return REASONS[reason] ?? reason
}

export function isEnded(status: Status): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled'
}

export function StatusBadge({
  state,
  reason,
}: {
  readonly state: State
  readonly reason?: Reason | undefined
}) {
  return (
    <span className="status" data-tone={toneOf(state)}>
      <span className="dot" aria-hidden />
      {state}
      {reason && <span className="status-reason cut">{reasonText(reason)}</span>}
    </span>
  )
}
