import { OPERATIONS_KEPT_MAX } from '../bounds.ts'
import type { HeadFields, Operation, OperationRecord } from '../task/head-fields.ts'
import type { Change } from './change.ts'

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
  const operations = withRecord(earlier, { at: now, by, what: what ?? after.operation })
  return { ...change, after: { ...after, operations } }
}

/** The last `OPERATIONS_KEPT_MAX` records, oldest first. */
export function withRecord(
  earlier: HeadFields['operations'] = [],
  record: OperationRecord,
): readonly OperationRecord[] {
  return [...earlier, record].slice(-OPERATIONS_KEPT_MAX)
}
