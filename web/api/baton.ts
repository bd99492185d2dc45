import { createClient } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { watchedFetch } from './connection.ts'

/** The API that serves this page. */
export const baton = createClient({ url: location.origin, fetch: watchedFetch })

/** Reads a path that the client has no method for. */
export async function ask<Answer>(path: string): Promise<Answer> {
  const answer = await watchedFetch(new Request(path))
  const body = await answer.json()
  if (!answer.ok) throw new ProblemError(body)
  return body
}

/** Why a request failed, in one sentence for a reader. */
export function problemText(error: unknown): string {
  if (!(error instanceof ProblemError)) return error instanceof Error ? error.message : String(error)
  const { status, problem } = error
  if (status === 0) return 'The system does not answer. It may have ended, or it is starting again.'
  return problem.detail || problem.title
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ProblemError && error.status === status
}
