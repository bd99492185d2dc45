/**
 * Keeps answers below what Lambda delivers, whatever they hold. Routes bound what they can foresee; here is what remains:
 *
 * - a page of a list is asked for again with fewer items, and its cursor leads on behind them;
 * - a batch leaves out, from its last members on, the task, the options or the list of errors;
 * - a task leaves out values, and names them in `omitted`.
 *
 * Claims are bounded before they are written (`shared/core/run/claim-size.ts`).
 */
import type { ApiTask } from '../../shared/api/tasks.ts'
import { ANSWER_BYTES_MAX } from '../../shared/core/bounds.ts'
import { escapedBytes, type Json } from '../../shared/core/json.ts'
import { fittedTask } from './fit-task.ts'
import type { Answer } from './route.ts'

/** A character of JSON text takes at most three bytes, escaped or not, so that a short text need not be measured. */
const MOST_BYTES_PER_CHARACTER = 3

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

/** The answer, or as much of it as can be delivered. `askAgain` answers the same request with fewer items. */
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
    else throw new Error(`an answer has ${bytesOf(body)} bytes, of which nothing can be left out`)
  }
  return shown
}

/** Of what stands around a task: its id, and whether it was created. */
const FRAME_BYTES = 4_096

function isDeliverable(body: unknown): boolean {
  if (body === undefined) return true
  const { length } = JSON.stringify(body)
  return length * MOST_BYTES_PER_CHARACTER <= ANSWER_BYTES_MAX || bytesOf(body) <= ANSWER_BYTES_MAX
}

/** How many of the first items there is room for: fewer than there are, and one at least. */
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
      const brief = inBrief(result)
      excess -= bytesOf(result) - bytesOf(brief)
      return brief
    })
    .reverse()
}

function inBrief({ task: _task, options: _options, problem, ...rest }: Result): Result {
  if (!problem) return rest
  const { errors: _errors, ...told } = problem
  return { ...rest, problem: told }
}

function bytesOf(value: unknown): number {
  return escapedBytes(value as Json)
}
