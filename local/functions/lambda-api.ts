import { type Answer, type Backend, type Call, errorAnswer, jsonAnswer, jsonOf } from '../gateway/call.ts'
import type { Functions } from './functions.ts'
import type { LocalFunction } from './local-function.ts'
import { EVENT_BYTES_MAX, LATER_EVENT_BYTES_MAX } from './protocol.ts'

const invocation = /^\/2015-03-31\/functions\/([^/]+)\/invocations/

/** Lambda's Invoke, for functions that call others through the SDK (the CDK's provider framework does). */
export function createLambdaApi(functions: Functions): Backend {
  return async call => {
    const [, wanted] = invocation.exec(call.path) ?? []
    if (wanted === undefined) return errorAnswer(501, 'NotImplemented', `${call.method} ${call.path}`)
    const target = functions.all().find(({ name, arn }) => [name, arn].includes(decodeURIComponent(wanted)))
    if (!target) return errorAnswer(404, 'ResourceNotFoundException', `Function not found: ${wanted}`)
    return refusalOf(target, call) ?? (isLater(call) ? invokeLater(target, call) : invoke(target, call))
  }
}

/** The reason why Lambda does not invoke the function; undefined if it does. */
function refusalOf(target: LocalFunction, call: Call): Answer | undefined {
  if (target.refuses(chainOf(call))) {
    return errorAnswer(400, 'RecursiveInvocationException', 'Lambda has detected a recursive loop')
  }
  return sizeRefusal(call, isLater(call) ? LATER_EVENT_BYTES_MAX : EVENT_BYTES_MAX)
}

function isLater({ headers }: Call): boolean {
  return headers['x-amz-invocation-type'] === 'Event'
}

function invokeLater(target: LocalFunction, call: Call): Answer {
  target.invokeLater(jsonOf(call), chainOf(call))
  return jsonAnswer(202, {})
}

async function invoke(target: LocalFunction, call: Call): Promise<Answer> {
  const result = await target.invoke(jsonOf(call), chainOf(call))
  if (result.ok) return jsonAnswer(200, result.payload)
  return jsonAnswer(200, result.error, { 'x-amz-function-error': 'Unhandled' })
}

function sizeRefusal({ body }: Call, most: number): Answer | undefined {
  if (body.length < most) return undefined
  const message = `Request must be smaller than ${most} bytes for the InvokeFunction operation`
  return errorAnswer(413, 'RequestTooLargeException', message)
}

/** The trace header of the chain that a call belongs to. */
function chainOf({ headers }: Call): string | undefined {
  const trace = headers['x-amzn-trace-id']
  return typeof trace === 'string' ? trace : undefined
}
