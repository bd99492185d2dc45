import type { Problem } from '../../shared/api/problems.ts'
import { REQUEST_BYTES_MAX } from '../../shared/core/bounds.ts'
import { INEXACT } from '../../shared/core/values/values.ts'
import { invalid, problem, tooLargeBody } from '../../shared/service/present/problems.ts'
import type { ReadBody } from '../../shared/service/service.ts'

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

/** At least 16 digits in a row, perhaps with a point among them. Fewer digits are always kept exactly. */
const MANY_DIGITS = /\d[\d.]{15}/

/**
 * Parses JSON text. A number beyond 2^53 whose digits would change, such as 9007199254740993, becomes `INEXACT`, which every
 * rule refuses. 6.02e23 and 1e300 keep their digits and are returned as they are.
 *
 * @throws SyntaxError for a text that is not JSON.
 */
export function parseExactly(text: string): unknown {
  return MANY_DIGITS.test(text) ? JSON.parse(text, exactOrMarked) : JSON.parse(text)
}

function exactOrMarked(
  _name: string,
  value: unknown,
  { source }: { readonly source?: string } = {},
): unknown {
  if (typeof value !== 'number' || source === undefined || Math.abs(value) <= Number.MAX_SAFE_INTEGER)
    return value
  return digitsOf(source) === digitsOf(String(value)) ? value : INEXACT
}

/** Returns the digits of a number without leading and trailing zeros, and the position of its point. */
function digitsOf(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = whole + fraction
  const significant = digits.replace(/^0+/, '')
  const pointAt = significant.length - fraction.length + Number(exponent)
  return `${significant.replace(/0+$/, '')} ${pointAt}`
}
