import type { ProblemError } from '../../shared/client/problem-error.ts'
import type { Invocation } from '../command.ts'
import { FAILED_EXIT_CODE, fetchFailureOf, WRONG_USE_EXIT_CODE } from '../say.ts'
import { safeJson, safeLines } from '../terminal/safe-text.ts'
import type { System } from './system.ts'

/** Statuses that say that the caller wrote something illegal. */
const WRONG_USE_STATUSES: readonly number[] = [400, 413, 415]

/** Prints why a call of the API failed: as lines for people, or as the problem document with `--json`. Returns the exit code. */
export function reportFailure(
  { problem, status, cause }: ProblemError,
  io: Invocation,
  system: System,
  isJson: boolean,
): number {
  if (isJson) io.err.write(`${safeJson(problem)}\n`)
  else for (const line of failureLines(problem, system, cause)) io.err.write(`${line}\n`)
  return WRONG_USE_STATUSES.includes(status) ? WRONG_USE_EXIT_CODE : FAILED_EXIT_CODE
}

/** What went wrong in words: a sentence, a line for each wrong field, and what to do. */
function failureLines(problem: ProblemError['problem'], system: System, cause: unknown): string[] {
  if (problem.status === 0) return [unreachable(problem.detail, system, cause)]
  const { detail, title, errors = [] } = problem
  const fields = errors.length > 1 ? errors.map(({ path, message }) => `  ${path} ${message}`) : []
  return [...safeLines([detail || title, ...fields].join('\n')), ...adviceFor(problem.status, system)]
}

function unreachable(detail: string, { url, isUsual }: System, cause: unknown): string {
  const reason = cause instanceof TypeError ? fetchFailureOf(cause) : reasonIn(detail)
  if (!isUsual) return safeLines(`no Baton system answers at ${url}: ${reason}`).join(' ')
  return `no Baton system answers at ${url}: start it with baton dev, or name another one with --url or --stack`
}

/** The client's detail begins with the method and the URL of the call. */
function reasonIn(detail: string): string {
  return detail.replace(/^[A-Z]+ \S+: /, '')
}

function adviceFor(status: number, { url, isSigned }: System): string[] {
  if (status === 401) return [`${url} wants a token: set BATON_TOKEN`]
  if (status === 403 && !isSigned)
    return ['calls of a deployed API are signed: give --stack NAME, or --profile NAME with --url']
  return []
}
