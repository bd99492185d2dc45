import type { Task } from '../../../../shared/core/task/task.ts'

/** The nonce that a task was published with. Removed tasks have none. */
export function nonceOf({ tags }: Task): number | undefined {
  return tags?.nonce === undefined ? undefined : Number(tags.nonce)
}

/** Whether a write published a new birth of a task. A restart does not count. */
export function isCreation(before: Task | undefined, after: Task): boolean {
  return after.operation === 'publish' && before?.born !== after.born
}

/**
 * Whether a write cancels a task that was never published. Nothing is handed on to such a task, even when it is
 * restarted.
 */
export function isCancelledUnpublished(before: Task | undefined, after: Task): boolean {
  return before === undefined && after.operation === 'cancel'
}

/** The result of a run that succeeded, as the handlers make it. */
export type Result = { readonly by: number; readonly of: string }

/** The result that a succeeded task hands on; undefined when an operator recorded its last step as done. */
export function resultIn({ id, flow, ended }: Task): Result | undefined {
  const last = flow && flow.definition.steps.length - 1
  const fence = last === undefined ? lastSuccess(ended) : flow?.steps[last]?.do.fence
  return fence === undefined ? undefined : { by: fence, of: id }
}

function lastSuccess(ended: Task['ended']): number | undefined {
  const done = Object.values(ended).filter(({ state, past }) => state === 'succeeded' && !past)
  return done.sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence).at(-1)?.fence
}

/** A result without its padding. */
export function plainResult(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainResult)
  if (typeof value !== 'object' || value === null || !('by' in value)) return value
  const { by, of } = value as Result
  return { by, of }
}
