import type { Change } from './change.ts'
import { OPERATIONS_KEPT } from './limits.ts'
import type { Operation, Task } from './task.ts'

/** A change by a person: when, by which principal, and what it was. */
export type OperationRecord = { readonly at: number; readonly by: string; readonly what: string }

/** Who changes something, and what the change is called; without `what` as the stored operation is. */
export type Operator = { readonly by: string; readonly what?: string }

/** Operations that a person asks for. What else a request writes on its way is the system's own doing. */
const ASKED_FOR: ReadonlySet<Operation> = new Set(['update', 'patch', 'cancel', 'restart', 'resume'])

/** The change with a record of who made it, if it is one that a person asks for: a task is published by a program, a schedule is set. */
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
  return [...earlier, record].slice(-OPERATIONS_KEPT)
}
