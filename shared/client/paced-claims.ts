import type { ClaimsAnswer, ClaimsBody } from '../api/runs.ts'
import { ProblemError } from './problem-error.ts'

/** Where the server refuses a claim without saying for how long. */
const DEFAULT_RETRY_MS = 2_000

/**
 * Claims that obey the server. After an answer with `retryAfterMs`, the next claim of the same worker is sent no sooner than
 * that. A claim that is refused because too many wait answers as an empty one.
 */
export function pacedClaims(
  send: (request: ClaimsBody) => Promise<ClaimsAnswer>,
): (request: ClaimsBody) => Promise<ClaimsAnswer> {
  const rests = new Map<string, { readonly from: number; readonly ms: number }>()
  return async request => {
    const { workerId } = request
    const rest = rests.get(workerId)
    // A clock that is set back makes no rest longer than it was.
    const restMs = rest ? Math.min(rest.ms, rest.from + rest.ms - Date.now()) : 0
    if (restMs > 0) await new Promise(resolve => setTimeout(resolve, restMs))
    const answer = await send(request).catch(refusedForNow)
    if (answer.retryAfterMs === undefined) rests.delete(workerId)
    else rests.set(workerId, { from: Date.now(), ms: answer.retryAfterMs })
    return answer
  }
}

function refusedForNow(error: unknown): ClaimsAnswer {
  if (!(error instanceof ProblemError) || error.status !== 429) throw error
  return { claims: [], retryAfterMs: error.problem.retryAfterMs ?? DEFAULT_RETRY_MS }
}
