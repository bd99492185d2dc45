import type { ClaimsAnswer, ClaimsBody } from '../api/runs.ts'
import { ProblemError } from './problem-error.ts'
import { aborted, newKey, pauseFor } from './repetition.ts'
import type { CallOptions } from './send.ts'

/** The pause after a refusal (429) that does not name one. */
const DEFAULT_RETRY_MS = 2_000

type Claim = (request: ClaimsBody, call?: CallOptions) => Promise<ClaimsAnswer>

/**
 * Delays claims as the API asks. After an answer with `retryAfterMs`, it sends the next claim of the same worker after that time
 * at the earliest. A claim that is refused because too many claims wait (429) counts as an empty answer. A claim without a
 * `requestId` gets one, so that it may be sent again: the API answers a repetition with the same claims.
 */
export function pacedClaims(send: Claim): Claim {
  const pauses = new Map<string, { readonly from: number; readonly ms: number }>()
  return async (request, call) => {
    const { workerId } = request
    const pause = pauses.get(workerId)
    // A clock that is set back must not make the pause longer.
    const pauseMs = pause ? Math.min(pause.ms, pause.from + pause.ms - Date.now()) : 0
    if (pauseMs > 0) await pauseFor(pauseMs, call?.signal)
    if (call?.signal?.aborted) throw aborted('POST /v1/claims', call.signal.reason)
    const answer = await send({ requestId: newKey(), ...request }, call).catch(emptyAnswerOf)
    if (answer.retryAfterMs === undefined) pauses.delete(workerId)
    else pauses.set(workerId, { from: Date.now(), ms: answer.retryAfterMs })
    return answer
  }
}

function emptyAnswerOf(error: unknown): ClaimsAnswer {
  if (!(error instanceof ProblemError) || error.status !== 429) throw error
  return { claims: [], retryAfterMs: error.problem.retryAfterMs ?? DEFAULT_RETRY_MS }
}
