import { type Backend, bodyOf, type Call, errorAnswer, jsonAnswer } from '../gateway/call.ts'
import type { Functions } from './functions.ts'

const invocation = /^\/2015-03-31\/functions\/([^/]+)\/invocations/

/** Lambda's Invoke, for functions that call others through the SDK (the CDK's provider framework does). */
export function createLambdaApi(functions: Functions): Backend {
  return async call => {
    const [, wanted] = invocation.exec(call.path) ?? []
    if (wanted === undefined) return errorAnswer(501, 'NotImplemented', `${call.method} ${call.path}`)
    const target = functions.all().find(({ name, arn }) => [name, arn].includes(decodeURIComponent(wanted)))
    if (!target) return errorAnswer(404, 'ResourceNotFoundException', `Function not found: ${wanted}`)
    const chain = chainOf(call)
    if (target.refuses(chain)) {
      return errorAnswer(400, 'RecursiveInvocationException', 'Lambda has detected a recursive loop')
    }
    if (call.headers['x-amz-invocation-type'] === 'Event') {
      target.invokeLater(bodyOf(call), chain)
      return jsonAnswer(202, {})
    }
    const result = await target.invoke(bodyOf(call), chain)
    if (result.ok) return jsonAnswer(200, result.payload)
    return jsonAnswer(200, result.error, { 'x-amz-function-error': 'Unhandled' })
  }
}

/** The trace header of the chain that a call belongs to. */
function chainOf({ headers }: Call): string | undefined {
  const trace = headers['x-amzn-trace-id']
  return typeof trace === 'string' ? trace : undefined
}
