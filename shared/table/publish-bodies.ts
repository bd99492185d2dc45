import type { Problem } from '../api/problems.ts'
import { ProblemError } from '../client/problem-error.ts'
import type { FieldProblem } from '../core/errors.ts'
import { joinPath } from '../core/rules/rules.ts'
import type { AnyDefinition } from '../define/definitions.ts'
import { bodyOf, inputProblems, isCanvas, type Publishable } from '../define/publishable.ts'
import { invalid } from '../service/present/problems.ts'

/**
 * The body of a publish as JSON text brings it. `at` is the path of the body in the call.
 *
 * @throws ProblemError for a canvas, for an input that does not fit its definition, and for what JSON cannot hold
 */
export async function publishBodyOf(what: Publishable, given: readonly unknown[], at = ''): Promise<unknown> {
  refuse(canvasProblems(what, at))
  const body = asSent(bodyOf(what, given), at)
  if (isDefinition(what)) refuse((await inputProblems(what.input, given[0], joinPath(at, ['input']))) ?? [])
  return body
}

/** @throws ProblemError unless there are no problems */
export function refuse(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw refusal(invalid(problems))
}

export function refusal(problem: Problem): ProblemError {
  return new ProblemError(problem)
}

function asSent(body: object, path: string): unknown {
  try {
    return JSON.parse(JSON.stringify(body))
  } catch (error) {
    throw refusal(invalid([{ path, message: `is no JSON: ${(error as Error).message}` }]))
  }
}

function isDefinition(what: Publishable): what is AnyDefinition {
  return typeof what === 'object' && 'kind' in what
}

function canvasProblems(what: Publishable, path: string): FieldProblem[] {
  return isCanvas(what)
    ? [{ path, message: 'is a canvas, which only the client of the HTTP API publishes' }]
    : []
}
