import type { Problem } from '../../shared/client/api-types.ts'
import { MAX_REQUEST_BYTES } from '../../shared/core/limits.ts'
import { parseExactly } from './parse-exactly.ts'
import { invalid, problem } from './problems.ts'

type Body = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: Problem }

/**
 * What a body may say of itself: JSON, or nothing that contradicts it. `curl -d` calls everything a form, and scripts
 * leave the header to their HTTP library; both mean JSON here.
 */
const READABLE = /^(application\/([\w.+-]*\+)?json|text\/plain|application\/x-www-form-urlencoded)\s*(;|$)/i

/** The body as JSON; an empty one is undefined. */
export async function readBody(request: Request): Promise<Body> {
  const contentType = request.headers.get('content-type')
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (contentType !== null && !READABLE.test(contentType.trim())) {
    return refuse(problem('unsupported-media-type', `send application/json, not ${contentType}`))
  }
  if (encoding !== 'identity') {
    return refuse(problem('unsupported-media-type', `send it as it is, not encoded as ${encoding}`))
  }
  const bytes = await readLimited(request)
  if (!bytes)
    return refuse(
      problem('too-large', `the body has more than ${MAX_REQUEST_BYTES} bytes; send less at a time`),
    )
  return bytes.length === 0 ? { ok: true, value: undefined } : parse(bytes)
}

function refuse(reason: Problem): Body {
  return { ok: false, problem: reason }
}

/** Undefined when the body is longer than the limit; the rest of it is not kept. */
async function readLimited(request: Request): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_REQUEST_BYTES) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > MAX_REQUEST_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parse(bytes: Uint8Array): Body {
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
