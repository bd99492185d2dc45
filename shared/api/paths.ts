/**
 * Ids in the paths of the HTTP API.
 *
 * API Gateway decodes a path before the function sees it, so a function cannot distinguish an encoded `/` from a plain one, and
 * never sees what follows an encoded `?`. Therefore only a safe id may be percent-encoded in a path. An unsafe id is written as `~`
 * and the base64url of its UTF-8. A safe id may be written in that form, too.
 */

/** A safe id is ASCII. After the first colon, which ends a type's name, it may also have spaces and letters of other scripts. */
const SAFE = /^[A-Za-z0-9._@,=+-]*(:[A-Za-z0-9._:@,=+\- \p{L}]*)?$/u
/** Clients and proxies remove these segments from a path, whether they are percent-encoded or not. */
const DOT_SEGMENTS: readonly string[] = ['.', '..']
const ENCODED_MARK = '~'

/** What the API answers when a segment of a path does not name an id. */
export const SEGMENT_RULE =
  'must be letters, digits and . _ : @ , = + - (after the first colon also spaces and other letters), or ~ and the base64url of its UTF-8'

/** Whether a percent-encoded id passes through every client and API Gateway unchanged. */
function isSafe(id: string): boolean {
  return id !== '' && SAFE.test(id) && !DOT_SEGMENTS.includes(id)
}

/** The id as a segment of a path: percent-encoded when it is safe, else in base64url. */
export function segmentOf(id: string): string {
  if (isSafe(id)) return encodeURIComponent(id)
  // Half a surrogate pair has no UTF-8. The mark alone names no id, so the request cannot reach another id.
  return id.isWellFormed() ? `${ENCODED_MARK}${toBase64Url(id)}` : ENCODED_MARK
}

/** The id that a decoded segment names; undefined when it names none. */
export function idOf(segment: string): string | undefined {
  if (!segment.startsWith(ENCODED_MARK)) return isSafe(segment) ? segment : undefined
  const id = fromBase64Url(segment.slice(ENCODED_MARK.length))
  return id === '' ? undefined : id
}

function toBase64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte))
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** The text in base64url, padded or not. Undefined when it is not UTF-8, or not the only form in which that text is encoded. */
function fromBase64Url(text: string): string | undefined {
  const unpadded = text.replace(/={1,2}$/, '')
  try {
    const binary = atob(unpadded.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, character => character.charCodeAt(0))
    const id = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return toBase64Url(id) === unpadded ? id : undefined
  } catch {
    return undefined
  }
}
