import { type Body, contentDigest } from './body.ts'
import type { EndedRun } from './runs.ts'
import { successes, type Task } from './task.ts'

/** The last success of the present piece. Its result is the task's result, unless the task is a flow. */
export function lastSuccess(task: Task): EndedRun | undefined {
  return successes(task)
    .sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence)
    .at(-1)
}

/** Whether the result of the task is the result of this run. */
export function hasResultOf(task: Task, fence: number): boolean {
  const { flow, state } = task
  if (!flow) return lastSuccess(task)?.fence === fence
  return state === 'succeeded' && flow.steps[flow.definition.steps.length - 1]?.do.fence === fence
}

/** The result of the task: the result of its last success, or for a flow that of its last step. */
export function resultOf(task: Task): Body | undefined {
  const { flow } = task
  if (!flow) return lastSuccess(task)?.result
  return task.state === 'succeeded' ? flow.steps[flow.definition.steps.length - 1]?.result : undefined
}

/** The digest of a success whose record keeps no result, because its stage is over or because it undid a step. */
export function pastDigest({
  result,
  reportDigest,
}: Pick<EndedRun, 'result' | 'reportDigest'>): string | undefined {
  return joinedDigest(digestOfResult(result), reportDigest)
}

/** One digest of a result's digest and a report's digest; undefined when both are undefined. */
export function joinedDigest(result: string | undefined, report: string | undefined): string | undefined {
  return result === undefined && report === undefined
    ? undefined
    : contentDigest([result ?? null, report ?? null])
}

/** The digest of a result. The `ref` of a result that is kept apart ends in this digest. */
export function digestOfResult(result: Body | undefined): string | undefined {
  if (!result) return undefined
  return 'ref' in result ? result.ref.split('#').at(-1) : contentDigest(result.inline)
}
