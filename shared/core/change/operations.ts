import { OPERATIONS_KEPT_MAX } from '../bounds.ts'
import type { Operation, OperationRecord, Task } from '../task/task.ts'
import type { Change } from './change.ts'

/** The principal that asks for a change, and the name of the change; without `what` it is named as the stored operation. */
export type Operator = { readonly by: string; readonly what?: string }

/** Operations that callers ask for by name. What else a request writes on its way is the system's own doing. */
const ASKED_FOR: ReadonlySet<Operation> = new Set(['update', 'patch', 'cancel', 'restart', 'resume'])

/** The change with a record of its principal, if callers ask for it by name. The first publish of a task is none; setting a schedule is one. */
export function withOperation(change: Change, { by, what }: Operator, now: number): Change {
  const { before, after } = change
  const isCreation = after.operation === 'publish' && after.schedule !== undefined
  if (!isCreation && !ASKED_FOR.has(after.operation)) return change
  const earlier = isCreation ? undefined : before?.operations
  const operations = withRecord(earlier, { at: now, by, what: what ?? after.operation })
  return { ...change, after: { ...after, operations } }
}

/** The last ten records, oldest first. */
export function withRecord(
  earlier: Task['operations'] = [],
  record: OperationRecord,
): readonly OperationRecord[] {
  return [...earlier, record].slice(-OPERATIONS_KEPT_MAX)
}
