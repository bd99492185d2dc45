import type { Problem } from '../api/problems.ts'
import type { PublishBody } from '../api/publish.ts'
import { ProblemError } from '../client/problem-error.ts'
import type { FieldProblem } from '../core/errors.ts'
import { joinPath } from '../core/rules/rules.ts'
import type { AnyDefinition } from '../define/any-definition.ts'
import { bodyOf, inputProblems, type Publishable } from '../define/publishable.ts'
import { invalid } from '../present/problems.ts'
import { bodyProblems } from '../requests/body-rules.ts'
import { callbacksSizeProblem, fieldProblems, sizeProblem } from '../requests/publish-requests.ts'

/**
 * The body of a publish, checked field by field as the HTTP API checks it. `at` is the path of the body in the call.
 *
 * @throws ProblemError `urn:baton:problem:invalid`, or `too-large` for an input or for callbacks of more than 350 KB
 */
export async function checkedBody(
  what: Publishable,
  given: readonly unknown[],
  now: number,
  at = '',
): Promise<PublishBody> {
  refuse(canvasProblems(what, at))
  const body = asSent(bodyOf(what, given), at)
  const inputPath = joinPath(at, ['input'])
  if (isDefinition(what)) refuse((await inputProblems(what.input, given[0], inputPath)) ?? [])
  refuse(bodyProblems('publish', body, at))
  const checked = body as PublishBody
  refuse(fieldProblems(checked, now, at))
  const tooLarge = sizeProblem(checked.input, inputPath) ?? callbacksSizeProblem(checked, at)
  if (tooLarge) refuse([tooLarge], 'too-large')
  return checked
}

/** @throws ProblemError unless there are no problems */
export function refuse(problems: readonly FieldProblem[], kind?: 'invalid' | 'too-large'): void {
  if (problems.length > 0) throw refusal(invalid(problems, kind))
}

export function refusal(problem: Problem): ProblemError {
  return new ProblemError(problem)
}

/** A body as JSON text brings it. @throws ProblemError for one that JSON cannot hold, such as a bigint */
function asSent(body: object, path: string): object {
  try {
    return JSON.parse(JSON.stringify(body))
  } catch (error) {
    throw refusal(invalid([{ path, message: `is no JSON: ${(error as Error).message}` }]))
  }
}

function isDefinition(what: Publishable): what is AnyDefinition {
  return typeof what === 'object' && 'kind' in what
}

const CANVASES = ['chain', 'group', 'chord']

function canvasProblems(what: Publishable, path: string): FieldProblem[] {
  const isCanvas = typeof what === 'object' && CANVASES.some(name => name in what)
  return isCanvas ? [{ path, message: 'is a canvas, which only the client of the HTTP API publishes' }] : []
}
