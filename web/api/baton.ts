import { createClient } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { watchedFetch } from './store.ts'

/** The API that serves this page. */
export const baton = createClient({ url: location.origin, fetch: watchedFetch })

/** Reads a path of the API that the client has no method for. The client for browsers carries only what applications need. */
export async function ask<Answer>(path: string): Promise<Answer> {
  const answer = await watchedFetch(new Request(path))
  if (answer.ok) return answer.json()
  const problem = await answer.json().catch(() => ({}))
  throw new ProblemError({
    type: 'about:blank',
    title: answer.statusText,
    detail: '',
    status: answer.status,
    ...problem,
  })
}

/** Reads a path that only the local system serves. Null elsewhere. */
export async function askLocal<Answer>(path: string): Promise<Answer | null> {
  const answer = await fetch(path, { headers: { accept: 'application/json' } })
  const isServed = answer.ok && answer.headers.get('content-type')?.startsWith('application/json')
  return isServed ? answer.json() : null
}

/** Why a request failed, in one sentence for a reader. */
export function problemText(error: unknown): string {
  if (!(error instanceof ProblemError)) return error instanceof Error ? error.message : String(error)
  const { status, problem } = error
  if (status === 0) return 'The system does not answer. It may have ended, or it is starting again.'
  return problem.detail || problem.title
}

/** Whether a change was refused because another person has changed the thing since it was read. */
export function isStale(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.type === 'urn:baton:problem:stale-revision'
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ProblemError && error.status === status
}
