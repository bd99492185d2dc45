import type { Task } from '../../../shared/core/task/task.ts'

/** The nonce that a task was published with; tombstones have none. */
export function nonceOf({ tags }: Task): number | undefined {
  return tags?.nonce === undefined ? undefined : Number(tags.nonce)
}

/** Whether a write brought a task into being, other than by somebody who starts an old one over. */
export function isCreation(before: Task | undefined, after: Task): boolean {
  return after.operation === 'publish' && before?.born !== after.born
}

/** Whether a task is written as cancelled that was never published: nothing is handed on to it, whoever starts it over. */
export function isCancelledUnpublished(before: Task | undefined, after: Task): boolean {
  return before === undefined && after.operation === 'cancel'
}

/** What the success of a run comes to; see the handlers. */
export type Result = { readonly by: number; readonly of: string }

/** What a task that has succeeded hands on; undefined when a person has counted its last step as done. */
export function resultIn({ id, flow, ended }: Task): Result | undefined {
  const last = flow && flow.definition.steps.length - 1
  const fence = last === undefined ? lastSuccess(ended) : flow?.steps[last]?.do.fence
  return fence === undefined ? undefined : { by: fence, of: id }
}

function lastSuccess(ended: Task['ended']): number | undefined {
  const done = Object.values(ended).filter(({ state, past }) => state === 'succeeded' && !past)
  return done.sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence).at(-1)?.fence
}

/** A result without what only makes it long. */
export function plainResult(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainResult)
  if (typeof value !== 'object' || value === null || !('by' in value)) return value
  const { by, of } = value as Result
  return { by, of }
}
