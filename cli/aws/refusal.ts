/**
 * A refusal of the caller by the system, or by the gateway in front of it. The system answers with a problem document. A gateway may say
 * nothing: `aws/explain-refusal.ts` finds out why it refuses signed calls, and `dashboard/forward.ts` advises for all others.
 */

import { type HttpAnswer, problemAnswer } from '../../loopback/loopback.ts'

const UNAUTHORIZED = 401
const FORBIDDEN = 403

export function isRefusal(status: number): boolean {
  return status === UNAUTHORIZED || status === FORBIDDEN
}

/** Whether an answer is a refusal that no problem document explains. */
export function isUnexplainedRefusal(status: number, contentType: string | null): boolean {
  return isRefusal(status) && !contentType?.includes('application/problem+json')
}

/** The refusal as a problem document. */
export function explainedRefusal(status: number, title: string, detail: string): HttpAnswer {
  return problemAnswer(status === UNAUTHORIZED ? 'unauthorized' : 'forbidden', status, title, detail)
}
