import { type HttpAnswer, problemAnswer } from '../../shared/loopback/answer.ts'

const UNAUTHORIZED = 401
const FORBIDDEN = 403
const PROBLEM_TYPE = 'application/problem+json'

/** Whether the system, or the gateway in front of it, refuses the caller. */
function isRefusal({ status }: HttpAnswer): boolean {
  return status === UNAUTHORIZED || status === FORBIDDEN
}

/**
 * A refusal of the caller as the page can show it. Refusals of signed calls say what is wrong already (`cli/aws/explain-refusal.ts`). Any other
 * gateway may have answered without a problem document.
 */
export function withReason(answer: HttpAnswer, url: string): HttpAnswer {
  if (!isRefusal(answer) || String(answer.headers['content-type']).includes(PROBLEM_TYPE)) return answer
  const kind = answer.status === UNAUTHORIZED ? 'unauthorized' : 'forbidden'
  const advice = 'check BATON_TOKEN, or start baton dashboard again with --stack or --profile'
  const detail = `${url} answers ${answer.status} and does not say why: ${advice}`
  return problemAnswer(kind, answer.status, 'The system refuses your calls', detail)
}

/**
 * Tells the operator in the terminal why calls are refused: once for each reason, because the page asks again and again. After a call that
 * succeeds, the same reason is told anew.
 */
export function createRefusalTeller(tell: (reason: string) => void): (answer: HttpAnswer) => void {
  let told: string | undefined
  return answer => {
    if (!isRefusal(answer)) {
      told = undefined
      return
    }
    const { title, detail } = JSON.parse(answer.body.toString()) as {
      readonly title: string
      readonly detail: string
    }
    const reason = `${title}: ${detail}`
    if (reason !== told) tell(reason)
    told = reason
  }
}
