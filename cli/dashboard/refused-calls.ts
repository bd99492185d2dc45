import type { HttpAnswer } from '../../shared/loopback/answer.ts'
import { explainedRefusal, isRefusal, isUnexplainedRefusal } from '../refusal.ts'

/** A refusal of the caller as the page can show it. One that the system or `cli/aws/explain-refusal.ts` explains stays as it is. */
export function withReason(answer: HttpAnswer, url: string): HttpAnswer {
  const { status, headers } = answer
  if (!isUnexplainedRefusal(status, String(headers['content-type']))) return answer
  const advice = 'check BATON_TOKEN, or start baton dashboard again with --stack or --profile'
  const detail = `${url} answers ${status} and does not say why: ${advice}`
  return explainedRefusal(status, 'The system refuses your calls', detail)
}

/** A call of the API by the page. */
type PageCall = { readonly method: string; readonly path: string }

const ERROR_STATUS_MIN = 400

/**
 * Tells the operator in the terminal why calls are refused: once for each reason, because the page asks several paths again and again. A
 * reason is told anew after one of the calls that were refused for it has succeeded.
 */
export function createRefusalTeller(
  tell: (reason: string) => void,
): (call: PageCall, answer: HttpAnswer) => void {
  /** The calls that were refused for each reason. */
  const told = new Map<string, Set<string>>()
  const forget = (call: string) => {
    for (const [reason, calls] of told) if (calls.has(call)) told.delete(reason)
  }
  return ({ method, path }, answer) => {
    const [pathname = ''] = path.split('?')
    const call = `${method} ${pathname}`
    if (answer.status < ERROR_STATUS_MIN) forget(call)
    if (!isRefusal(answer.status)) return
    const text = textOf(answer)
    // The reason of a missing permission names the call.
    const reason = text.replaceAll(pathname, '')
    const calls = told.get(reason)
    if (!calls) tell(text)
    told.set(reason, new Set(calls).add(call))
  }
}

function textOf({ body }: HttpAnswer): string {
  const { title, detail } = JSON.parse(body.toString()) as { readonly title: string; readonly detail: string }
  return `${title}: ${detail}`
}
