import type { BulkBody } from '../../shared/api/bulk.ts'
import type { ListFilter } from '../../shared/api/tasks.ts'
import { BULK_STATUSES } from '../../shared/core/states.ts'
import type { Status } from '../parts/format.ts'

export type Action = {
  readonly name: 'retry' | 'cancel' | 'remove'
  readonly verb: string
  /** The statuses for which the server takes the action. */
  readonly statuses: readonly Status[]
  readonly explanation: string
}

export const RETRY: Action = {
  name: 'retry',
  verb: 'Retry',
  statuses: BULK_STATUSES.retry,
  explanation:
    'Plain tasks run again from the start: what they have done already is done a second time, unless their handlers recognise it. Failed flows do only what has failed again, a step or an undo. Left out are flows that are half undone, undone or not failed, and tasks that are open.',
}

export const ACTIONS: readonly Action[] = [
  RETRY,
  {
    name: 'cancel',
    verb: 'Cancel',
    statuses: BULK_STATUSES.cancel,
    explanation:
      'Open tasks stop, and running handlers get the signal to stop. The tasks keep their records and can be retried.',
  },
  {
    name: 'remove',
    verb: 'Remove',
    statuses: BULK_STATUSES.remove,
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

/** Why the server has left out tasks. A reason that is not here shows as it is. */
export const REASONS: Readonly<Record<string, string>> = {
  'needs-attention':
    'a person must decide about each: it is half undone, or its callbacks cannot be published',
  undone: 'their steps are undone already; only a restart does them again',
  'restart-only': 'flows that have not failed; only a restart does their steps again',
  changed: 'changed meanwhile, and do not fit any more',
  'open-canvas': 'an open canvas still needs their results',
  owes: 'their callbacks are still to be published',
  'nothing-to-do': 'have all the successes that they need',
  undoing: 'are undoing their steps',
  fault: 'could not be written; the log says why',
}
