import { OPERATIONS_KEPT_MAX } from '../bounds.ts'
import type { HeadFields, Operation, OperationRecord } from '../task/head-fields.ts'
import type { Change } from './change.ts'
import { isEdit } from './edits.ts'

/** The principal that asks for a change, and the name of the change. Without `what` the change is named after its operation. */
export type Operator = { readonly by: string; readonly what?: string }

/** The operations that callers ask for by name. All other writes follow from such a request or from the system's own work. */
const ASKED_FOR: ReadonlySet<Operation> = new Set(['update', 'patch', 'cancel', 'restart', 'resume'])

/**
 * The change with a record of its principal, if callers ask for it by name. The creation of a schedule is recorded; the publish of
 * a task is not.
 */
export function withOperation(change: Change, { by, what }: Operator, now: number): Change {
  const { before, after } = change
  const isCreation = after.operation === 'publish' && after.kind === 'schedule'
  if (!isCreation && !ASKED_FOR.has(after.operation)) return change
  const earlier = isCreation ? undefined : before?.operations
  return {
    ...change,
    after: {
      ...after,
      ...withRecorded({ ...after, operations: earlier }, { at: now, by, what: what ?? after.operation }),
    },
  }
}

/** The records with one more, and the number of edits after it. */
export function withRecorded(
  earlier: {
    readonly edits?: number | undefined
    readonly operations?: HeadFields['operations'] | undefined
  },
  record: OperationRecord,
): Pick<HeadFields, 'edits' | 'operations'> {
  const { edits = 0, operations } = earlier
  return {
    ...((edits > 0 || isEdit(record.what)) && { edits: edits + (isEdit(record.what) ? 1 : 0) }),
    operations: withRecord(operations, record),
  }
}

/** The last `OPERATIONS_KEPT_MAX` records, oldest first. */
function withRecord(
  earlier: HeadFields['operations'] = [],
  record: OperationRecord,
): readonly OperationRecord[] {
  return [...earlier, record].slice(-OPERATIONS_KEPT_MAX)
}
