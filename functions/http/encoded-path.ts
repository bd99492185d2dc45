/**
 * A path in which nothing can be taken for the syntax of a URL. HTTP APIs deliver `rawPath` decoded, function URLs and
 * the local cloud encoded, and the event does not tell which: so only what an encoded path cannot contain is encoded.
 * A key with a literal `%41` in it stays ambiguous on HTTP APIs.
 */
export function encodedPath(rawPath: string): string {
  return rawPath.replace(/%(?![0-9A-Fa-f]{2})|[?#\\]|[^\x21-\x7e]/gu, encodeURIComponent)
}
