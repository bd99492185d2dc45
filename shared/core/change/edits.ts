/**
 * Callers see the number of a task's, type's or schedule's edits as its `revision`. An edit is a change that a person asked for,
 * such as a patch, a pause or a cancel. Claims, ends of runs, ticks and other work of the machinery are no edits. So a caller that
 * names the revision it has read is refused after another person's change, and never because the machinery went on.
 */

import type { OperationRecord } from '../task/head-fields.ts'

/** What has edits: a head or a type. Items of earlier versions store no number, which counts as 0. */
export type Edited = {
  /** The number of edits. 0 when left out. */
  readonly edits?: number
  readonly operations?: readonly OperationRecord[]
}

/** The revision that a caller expects. Any revision is expected when it is left out. */
export type Expected = { readonly ifRevision?: number }

/** Recorded operations that are no edits: they start something, and change nothing that a caller can set. */
const NO_EDITS: ReadonlySet<string> = new Set(['trigger', 'purge'])

export function isEdit(what: string): boolean {
  return !NO_EDITS.has(what)
}

export function editsOf({ edits = 0 }: Edited): number {
  return edits
}

/** Whether the caller decided on an earlier state. Something that does not exist has the revision 0. */
export function isStale(present: Edited | undefined, { ifRevision }: Expected): boolean {
  return ifRevision !== undefined && ifRevision !== editsOf(present ?? {})
}

/** The last edit, if its record is kept. */
export function lastEdit({ operations = [] }: Edited): OperationRecord | undefined {
  return operations.findLast(({ what }) => isEdit(what))
}
