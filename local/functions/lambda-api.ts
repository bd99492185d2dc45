import { type Backend, bodyOf, errorAnswer, jsonAnswer } from '../gateway/call.ts'
import type { Functions } from './functions.ts'
import { EVENT_BYTES_MAX, LATER_EVENT_BYTES_MAX } from './payload-limits.ts'

const invocation = /^\/2015-03-31\/functions\/([^/]+)\/invocations/

/** Lambda's Invoke, for functions that call others through the SDK (the CDK's provider framework does). */
export function createLambdaApi(functions: Functions): Backend {
  return async call => {
    const [, wanted] = invocation.exec(call.path) ?? []
    if (wanted === undefined) return errorAnswer(501, 'NotImplemented', `${call.method} ${call.path}`)
    const target = functions.all().find(({ name, arn }) => [name, arn].includes(decodeURIComponent(wanted)))
    if (!target) return errorAnswer(404, 'ResourceNotFoundException', `Function not found: ${wanted}`)
    const isLater = call.headers['x-amz-invocation-type'] === 'Event'
    const most = isLater ? LATER_EVENT_BYTES_MAX : EVENT_BYTES_MAX
    if (call.body.length >= most) {
      const message = `Request must be smaller than ${most} bytes for the InvokeFunction operation`
      return errorAnswer(413, 'RequestTooLargeException', message)
    }
    if (isLater) {
      target.invokeLater(bodyOf(call))
      return jsonAnswer(202, {})
    }
    const result = await target.invoke(bodyOf(call))
    if (result.ok) return jsonAnswer(200, result.payload)
    return jsonAnswer(200, result.error, { 'x-amz-function-error': 'Unhandled' })
  }
}
