import type { BulkBody } from '../../shared/api/bulk.ts'
import type { ListFilter } from '../../shared/api/tasks.ts'
import { isEnded, STATUSES, type Status } from '../parts/format.ts'

/** What a reader can do with many tasks at once. */
export type Action = {
  readonly name: 'retry' | 'cancel' | 'remove'
  readonly verb: string
  /** Whether the action can be taken back, so that it need not wait. */
  readonly isHarmless: boolean
  /** The statuses for which the server takes the action. */
  readonly statuses: readonly Status[]
  readonly explanation: string
}

export const RETRY: Action = {
  name: 'retry',
  verb: 'Retry',
  isHarmless: true,
  statuses: STATUSES.filter(isEnded),
  explanation:
    'Each task that has ended starts over with a fresh retry budget. An open task is left as it is.',
}

export const ACTIONS: readonly Action[] = [
  RETRY,
  {
    name: 'cancel',
    verb: 'Cancel',
    isHarmless: false,
    statuses: ['delayed', 'ready', 'running'],
    explanation:
      'Open tasks stop, and running handlers get the signal to stop. The tasks keep their records and can be retried.',
  },
  {
    name: 'remove',
    verb: 'Remove',
    isHarmless: false,
    statuses: STATUSES,
    explanation:
      'The tasks never run again, running handlers get the signal to stop, and the records are deleted. This cannot be undone.',
  },
]

/**
 * The bulk operation of the server for all tasks of a filter. Undefined when no status of the filter fits the action, or when the server
 * does not take the filter: it takes one type, and a start only by the time at which tasks ended or are due.
 */
export function bulkOf({ name, statuses }: Action, filter: ListFilter): BulkBody | undefined {
  const { type = [], status = [], order, since, error, userId, canvasId, tag, until } = filter
  const [only, ...others] = [type].flat()
  const chosen = statuses.filter(one => status.length === 0 || status.includes(one))
  const isForeign = [userId, canvasId, tag, until, since && !order?.endsWith('ended')].some(Boolean)
  if (only === undefined || others.length > 0 || isForeign || chosen.length === 0) return undefined
  return { action: name, type: only, status: chosen, ...(since && { since }), ...(error && { error }) }
}
