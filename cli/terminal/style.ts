import { styleText } from 'node:util'

type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Gives text colours, or returns it as it is when there are none. */
export type Style = Readonly<Record<Look, (text: string) => string>> & {
  status(status: string): string
}

const LOOKS = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const

const LOOK_OF_STATUS: Readonly<Record<string, Look>> = {
  running: 'cyan',
  compensating: 'yellow',
  succeeded: 'green',
  failed: 'red',
  lost: 'red',
  'undo-failed': 'red',
  cancelled: 'dim',
  delayed: 'dim',
  pending: 'dim',
  skipped: 'dim',
}

export function createStyle(isColoured: boolean): Style {
  const look = (name: Look) => (text: string) =>
    // Newer versions of Node ask the standard output by themselves. This caller has decided already.
    isColoured ? styleText(name, text, { validateStream: false }) : text
  const looks = Object.fromEntries(LOOKS.map(name => [name, look(name)])) as Record<
    Look,
    (t: string) => string
  >
  return {
    ...looks,
    status: status => (LOOK_OF_STATUS[status] ? looks[LOOK_OF_STATUS[status]](status) : status),
  }
}

/**
 * Whether a stream gets colours: a terminal does, unless the user does not want them (`--no-color`, `NO_COLOR`) or the terminal has
 * none (`TERM=dumb`). `FORCE_COLOR` asks for them without a terminal.
 */
export function wantsColours(
  stream: { readonly isTTY: boolean },
  env: Readonly<Record<string, string | undefined>>,
  isAllowed = true,
): boolean {
  if (!isAllowed || env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  return stream.isTTY && env.TERM !== 'dumb'
}

/**
 * Keys, inputs, errors and logs may contain anything. A terminal obeys control characters, and marks of direction make text look
 * like another text. So these characters are shown as escapes.
 */

/** Control and format characters, separators of lines, and halves of surrogate pairs. The joiners of scripts and emoji stay. */
const UNSAFE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Returns the text as one line without any character that a terminal obeys. */
export function oneLine(text: string): string {
  return text.replace(UNSAFE, char => SHORT[char] ?? escapeOf(char))
}

/** Returns the lines of a text, each without any character that a terminal obeys. A tab becomes two spaces. */
export function safeLines(text: string): string[] {
  const lines = text.replace(/\r\n/g, '\n').replaceAll('\t', '  ').split('\n')
  return lines.map(oneLine)
}

/** Returns JSON text in which a terminal obeys no character. It has the same value. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  return text.replace(UNSAFE, char => (char === '\n' ? char : jsonEscapeOf(char)))
}

function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0
  if (code < 0x100) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 1)}}`
}

function jsonEscapeOf(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
  return units.map(unit => `\\u${hex(unit, 4)}`).join('')
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}

/** Returns the time in relation to now: `3 min ago`, `in 2 h`. No time is shown as a dash. */
export function relativeTime(at: string | undefined, now: number): string {
  const ms = Date.parse(at ?? '') - now
  if (Number.isNaN(ms)) return '-'
  if (Math.abs(ms) < 1_000) return 'now'
  return ms < 0 ? `${durationText(-ms)} ago` : `in ${durationText(ms)}`
}

const SHOWN_UNITS: ReadonlyArray<readonly [number, string]> = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

/** Returns a duration in its largest fitting unit, with one digit after the point below ten: `1.5 h`, `12 s`, `80 ms`. */
export function durationText(ms: number): string {
  const [size, unit] = SHOWN_UNITS.find(([size]) => ms >= size) ?? [1, 'ms']
  const count = ms / size
  const isShort = count < 9.95 && unit !== 'ms'
  return `${isShort ? Number(count.toFixed(1)) : Math.round(count)} ${unit}`
}

/** The time of day on the user's clock. */
export function clockText(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}
