import type { Problem } from '../../shared/api/problems.ts'
import { REQUEST_BYTES_MAX } from '../../shared/core/bounds.ts'
import { invalid, problem, tooLargeBody } from '../../shared/service/present/problems.ts'
import type { ReadBody } from '../../shared/service/service.ts'
import { parseExactly } from './parse-exactly.ts'

/**
 * The content types that are accepted. A body must declare itself as JSON, because a browser lets any web page post a form,
 * plain text or a body without a type to any address. The browser asks the server first only for JSON.
 */
const JSON_TYPE = /^application\/([\w.+-]*\+)?json\s*(;|$)/i

/** Reads the body as JSON. An empty body is undefined, whatever its content type. */
export async function readBody(request: Request): Promise<ReadBody> {
  const bytes = await readLimited(request)
  if (bytes?.length === 0) return { ok: true, value: undefined }
  const wrongType = typeProblem(request.headers)
  if (wrongType !== undefined) return refuse(problem('unsupported-media-type', wrongType))
  if (bytes) return parse(bytes)
  return refuse(tooLargeBody())
}

function typeProblem(headers: Headers): string | undefined {
  const type = headers.get('content-type')?.trim() ?? ''
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (type === '') return 'the body has no content type: send the header content-type: application/json'
  if (!JSON_TYPE.test(type)) return `send the body as JSON with content-type: application/json, not ${type}`
  return encoding === 'identity' ? undefined : `send the body without content-encoding, not as ${encoding}`
}

function refuse(reason: Problem): ReadBody {
  return { ok: false, problem: reason }
}

/** Returns the bytes of the body, or undefined when it is longer than `REQUEST_BYTES_MAX`. */
async function readLimited(request: Request): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > REQUEST_BYTES_MAX) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > REQUEST_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parse(bytes: Uint8Array): ReadBody {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return refuse(invalid([{ path: '', message: 'is not UTF-8' }]))
  }
  try {
    return { ok: true, value: parseExactly(text) }
  } catch (error) {
    return refuse(invalid([{ path: '', message: `is not JSON: ${(error as Error).message}` }]))
  }
}
