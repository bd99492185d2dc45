import type { FollowUp } from '../system/follow-up.ts'

/**
 * The advice of the API names calls of the API. This file names the commands that make these calls, so that a reader at a terminal can
 * paste them. A call without a command stays as it is.
 */

/** `first` and `second` are what the call has in its places. */
type Translation = readonly [call: RegExp, words: (first: string, second: string) => readonly string[]]

const TRANSLATIONS: readonly Translation[] = [
  [
    /POST \/v1\/tasks\/([^/\s]+)\/retry with \{"action": "([a-z-]+)"\}/g,
    (path, action) => ['retry', idInPath(path), '--action', action],
  ],
  [/POST \/v1\/tasks\/([^/\s]+)\/retry/g, path => ['retry', idInPath(path)]],
  [/POST \/v1\/tasks\/([^/\s]+)\/cancel/g, path => ['cancel', idInPath(path)]],
  [/DELETE \/v1\/tasks\/([^/\s]+)/g, path => ['remove', idInPath(path)]],
  [/POST \/v1\/types\/([^/\s]+)\/resume/g, path => ['resume', idInPath(path)]],
  [/POST \/v1\/dead-letters\/replay with \{"ids": \["([^"]+)"\]\}/g, id => ['dead-letters', 'replay', id]],
]

export function adviceWithCommands(advice: string, followUp: FollowUp): string {
  return TRANSLATIONS.reduce(
    (text, [call, words]) =>
      text.replace(call, (_call, first: string, second: string) => followUp(...words(first, second))),
    advice,
  )
}

/** An id stands in a path percent-encoded, or as `~` and base64url. */
function idInPath(segment: string): string {
  if (segment.startsWith('~')) return Buffer.from(segment.slice(1), 'base64url').toString('utf8')
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
