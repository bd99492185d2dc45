import { type HttpAnswer, problemAnswer } from '../../loopback/loopback.ts'

/** An answer of API Gateway itself: its `message`, in a problem document. */
export function gatewayAnswer(kind: string, status: number, message: string, detail: string): HttpAnswer {
  return problemAnswer(kind, status, message, detail, { members: { message } })
}

export const serverError = gatewayAnswer(
  'internal',
  500,
  'Internal Server Error',
  'the function behind this route failed; its log says why',
)

type Structured = {
  readonly statusCode: number | string
  readonly headers?: Record<string, unknown>
  readonly cookies?: string[]
  readonly body?: unknown
  readonly isBase64Encoded?: boolean
}

/**
 * The response for a function's answer, by the rules of payload format 2.0. An answer with a `statusCode` describes the response.
 * Any other answer is the JSON body of a 200.
 */
export function httpAnswerOf(payload: unknown): HttpAnswer {
  if (!isStructured(payload)) {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) }
  }
  const status = Number(payload.statusCode)
  if (!Number.isInteger(status) || status < 100 || status > 599) return serverError
  const headers = Object.entries(payload.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    String(value),
  ])
  return {
    status,
    headers: {
      'content-type': 'text/plain;charset=UTF-8',
      ...Object.fromEntries(headers),
      ...(payload.cookies?.length ? { 'set-cookie': payload.cookies } : {}),
    },
    body: bodyOf(payload),
  }
}

const isStructured = (payload: unknown): payload is Structured =>
  typeof payload === 'object' && payload !== null && 'statusCode' in payload

function bodyOf({ body, isBase64Encoded }: Structured) {
  if (body === undefined || body === null) return Buffer.alloc(0)
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return Buffer.from(text, isBase64Encoded ? 'base64' : 'utf8')
}
