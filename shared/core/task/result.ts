import { contentDigest } from './body.ts'
import { type Body, type EndedRun, successes, type Task } from './task.ts'

/** The success whose result is the task's, of the present piece. */
export function lastSuccess(task: Task): EndedRun | undefined {
  return successes(task)
    .sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence)
    .at(-1)
}

/** Whether the result of the task is that of this run. */
export function hasResultOf(task: Task, fence: number): boolean {
  const { flow, state } = task
  if (!flow) return lastSuccess(task)?.fence === fence
  return state === 'succeeded' && flow.steps[flow.definition.steps.length - 1]?.do.fence === fence
}

/** What the task has come to: the result of its last success, and of a flow that of its last step. */
export function resultOf(task: Task): Body | undefined {
  const { flow } = task
  if (!flow) return lastSuccess(task)?.result
  return task.state === 'succeeded' ? flow.steps[flow.definition.steps.length - 1]?.result : undefined
}

/** The digest of a success whose record keeps no result: its stage is over, or it has undone a step. */
export function pastDigest({
  result,
  reportDigest: word,
}: Pick<EndedRun, 'result' | 'word'>): string | undefined {
  return joinedDigest(digestOfResult(result), word)
}

/** One digest of a result's and a word's; undefined when there is neither. */
export function joinedDigest(result: string | undefined, word: string | undefined): string | undefined {
  return result === undefined && word === undefined
    ? undefined
    : contentDigest([result ?? null, word ?? null])
}

/** Results kept apart have the digest in their name. */
export function digestOfResult(result: Body | undefined): string | undefined {
  if (!result) return undefined
  return 'ref' in result ? result.ref.split('#').at(-1) : contentDigest(result.inline)
}
