/**
 * Anything may stand in keys, inputs, errors and logs. A terminal obeys control characters, and marks of direction make text look
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

/** Returns JSON text in which a terminal obeys no character. It stands for the same value. */
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
