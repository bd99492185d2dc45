import type { ApiTask, OmittedPart } from '../api/tasks.ts'
import { ANSWER_BYTES_MAX } from '../core/bounds.ts'
import { escapedBytes, type Json } from '../core/values/values.ts'
import type { Answer } from './operation.ts'

/**
 * Keeps every answer below the size that Lambda delivers. Operations bound the sizes that they can foresee. This file handles
 * the rest:
 *
 * - A page of a list is read again with fewer items. Its cursor continues after them.
 * - A batch drops tasks, options and lists of errors from its members, beginning with the last member.
 * - A task leaves out values, and names them in `omitted`.
 *
 * Claims are bounded before they are written (`shared/core/run/claim.ts`).
 */

/** A character of JSON text takes at most three bytes, escaped or not. A short text need not be measured. */
const BYTES_PER_CHARACTER_MAX = 3

type Body = {
  readonly items?: readonly unknown[]
  readonly results?: readonly Result[]
  readonly task?: ApiTask
}

type Result = {
  readonly task?: unknown
  readonly options?: unknown
  readonly problem?: { readonly errors?: unknown }
}

/** Returns the answer, shortened if it is too long. `askAgain` answers the same request with at most `limit` items. */
export async function fittedAnswer(
  answer: Answer,
  askAgain: (limit: number) => Promise<Answer>,
): Promise<Answer> {
  let shown = answer
  while (!isDeliverable(shown.body)) {
    const body = shown.body as Body & ApiTask
    const { items, results, task, runs } = body
    if (items && items.length > 1) shown = await askAgain(fewerThan(items, body))
    else if (results) return { ...shown, body: { ...body, results: fittedResults(results, body) } }
    else if (task)
      return { ...shown, body: { ...body, task: fittedTask(task, ANSWER_BYTES_MAX - FRAME_BYTES) } }
    else if (runs) return { ...shown, body: fittedTask(body, ANSWER_BYTES_MAX) }
    else throw new Error(`an answer has ${bytesOf(body)} bytes, and no part of it can be left out`)
  }
  return shown
}

/** Room for what an answer holds beside the task: the task's id, and whether it was created. */
const FRAME_BYTES = 4_096

function isDeliverable(body: unknown): boolean {
  if (body === undefined) return true
  const { length } = JSON.stringify(body)
  return length * BYTES_PER_CHARACTER_MAX <= ANSWER_BYTES_MAX || bytesOf(body) <= ANSWER_BYTES_MAX
}

/** Returns how many of the first items fit: fewer than all, and at least one. */
function fewerThan(items: readonly unknown[], body: Body): number {
  let excess = bytesOf(body) - ANSWER_BYTES_MAX
  let count = items.length
  while (excess > 0 && count > 1) {
    count -= 1
    excess -= bytesOf(items[count])
  }
  return count
}

function fittedResults(results: readonly Result[], body: Body): Result[] {
  let excess = bytesOf(body) - ANSWER_BYTES_MAX
  return results
    .toReversed()
    .map(result => {
      if (excess <= 0) return result
      const short = withoutDetails(result)
      excess -= bytesOf(result) - bytesOf(short)
      return short
    })
    .reverse()
}

function withoutDetails({ task: _task, options: _options, problem, ...rest }: Result): Result {
  if (!problem) return rest
  const { errors: _errors, ...shortProblem } = problem
  return { ...rest, problem: shortProblem }
}

function bytesOf(value: unknown): number {
  return escapedBytes(value as Json)
}

/**
 * Shortens a task to at most `room` bytes of escaped JSON. It drops, in this order and only as far as needed: the results of
 * runs, oldest first (the last success also stands in `result`); `params`, which repeats the results of a flow's steps; the
 * results of these steps; and `previous`. Input, result and errors stay: together they always fit.
 */
function fittedTask(task: ApiTask, room: number): ApiTask {
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
