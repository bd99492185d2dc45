import type { Query, QueryClient } from '@tanstack/react-query'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { createStore } from './store.ts'

/**
 * Tells that what is on screen is old. An answer that is shown stays when the same question is refused later, for example because a
 * credential has expired or too many requests were sent. Without a word about it, the page would look as if it were up to date.
 */

/** Why a question on screen was refused when it was asked again. Undefined while each has its newest answer. */
export const refusal = createStore<string | undefined>(undefined)

/** 0 and 503 say that the system does not answer, which has a word of its own. The others are what the API answers by its contract. */
const TOLD_ELSEWHERE: ReadonlySet<number> = new Set([0, 404, 409, 501, 503])

/** Follows the questions of a client for as long as the page is open. */
export function watchRefusals(client: QueryClient): void {
  const cache = client.getQueryCache()
  cache.subscribe(() => refusal.set(refusalIn(cache.getAll())))
}

function refusalIn(all: readonly Query[]): string | undefined {
  const refused = all
    .filter(query => query.isActive() && query.state.data !== undefined && isRefusal(query.state.error))
    .sort((a, b) => b.state.errorUpdatedAt - a.state.errorUpdatedAt)
  const error: unknown = refused[0]?.state.error
  if (!(error instanceof ProblemError)) return undefined
  return error.problem.detail || error.problem.title
}

function isRefusal(error: unknown): boolean {
  return error instanceof ProblemError && !TOLD_ELSEWHERE.has(error.status)
}
