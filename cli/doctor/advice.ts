/**
 * The advice of the API names calls of the API. This file names the commands that make these calls, so that a reader at a terminal can
 * paste them. A call without a command stays as it is.
 */

type Translation = readonly [call: RegExp, command: (id: string, action: string) => string]

const TRANSLATIONS: readonly Translation[] = [
  [
    /POST \/v1\/tasks\/([^/\s]+)\/retry with \{"action": "([a-z-]+)"\}/g,
    (id, action) => `baton retry ${id} --action ${action}`,
  ],
  [/POST \/v1\/tasks\/([^/\s]+)\/retry/g, id => `baton retry ${id}`],
  [/POST \/v1\/tasks\/([^/\s]+)\/cancel/g, id => `baton cancel ${id}`],
  [/DELETE \/v1\/tasks\/([^/\s]+)/g, id => `baton remove ${id}`],
  [/POST \/v1\/types\/([^/\s]+)\/resume/g, type => `baton resume ${type}`],
]

export function adviceWithCommands(advice: string): string {
  return TRANSLATIONS.reduce(
    (text, [call, command]) =>
      text.replace(call, (_call, segment: string, action: string) =>
        command(quoted(idInPath(segment)), action),
      ),
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

/** A text as one word of a shell. */
function quoted(text: string): string {
  return /^[\w.:@,=+/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
