import type { ApiTask, OmittedPart } from '../api/tasks.ts'
import { escapedBytes, type Json } from '../core/values/json.ts'

/**
 * Shortens a task to at most `room` bytes of escaped JSON. It drops, in this order and only as far as needed: the results of
 * runs, oldest first (the last success also stands in `result`); `params`, which repeats the results of a flow's steps; the
 * results of these steps; and `previous`. Input, result and errors stay: together they always fit.
 */
export function fittedTask(task: ApiTask, room: number): ApiTask {
  const omitted = new Set<OmittedPart>(task.omitted)
  let shown = task
  for (const [part, without] of PARTS) {
    const excess = bytesOf({ ...shown, omitted: [...omitted, part] }) - room
    if (excess <= 0) break
    const less = without(shown, excess)
    if (less !== shown) omitted.add(part)
    shown = less
  }
  return omitted.size === 0 ? shown : { ...shown, omitted: [...omitted] }
}

/** Returns the task without one of its parts, or the same task when it does not have that part. */
type Without = (task: ApiTask, excess: number) => ApiTask

const PARTS: ReadonlyArray<readonly [OmittedPart, Without]> = [
  ['runs.result', withoutOldResults],
  ['params', withoutParams],
  ['steps.result', withoutStepResults],
  ['previous', withoutPrevious],
]

function withoutOldResults(task: ApiTask, excess: number): ApiTask {
  let left = excess
  const runs = task.runs.map(run => {
    const { result, ...rest } = run
    if (result === undefined || left <= 0) return run
    left -= escapedBytes(result)
    return rest
  })
  return left === excess ? task : { ...task, runs }
}

function withoutParams(task: ApiTask): ApiTask {
  const { params, ...rest } = task
  return params ? rest : task
}

function withoutPrevious(task: ApiTask): ApiTask {
  const { previous, ...rest } = task
  return previous === undefined ? task : rest
}

function withoutStepResults(task: ApiTask): ApiTask {
  if (!task.steps?.some(({ result }) => result !== undefined)) return task
  return { ...task, steps: task.steps.map(({ result: _result, ...rest }) => rest) }
}

function bytesOf(value: object): number {
  return escapedBytes(value as unknown as Json)
}
