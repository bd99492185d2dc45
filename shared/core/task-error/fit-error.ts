import { ERROR_BYTES_MAX, ERROR_CAUSES_MAX, SHORT_ERROR_CHARACTERS_MAX } from '../bounds.ts'
import { cut, type ErrorCause, type TaskError } from '../task/error.ts'
import { jsonBytes } from '../values/json.ts'

/** Bytes of an error's name. The name is cut to `SHORT_ERROR_CHARACTERS_MAX` as well, so only unusual scripts reach this bound. */
const NAME_BYTES_MAX = 240
/** Bytes reserved for the stack, however long the texts before it are. */
const STACK_BYTES_KEPT = 1_024
/** Bytes reserved for the message of each cause, however long the texts before it are. */
const CAUSE_BYTES_KEPT = 256

/**
 * The error as it is stored. The whole error takes at most `ERROR_BYTES_MAX`, measured in UTF-8 as JSON text. An error that is too
 * long first loses the end of its stack, then the ends of its causes' messages, then the end of its own message.
 */
export function fitError({ name, message, stack, causes = [] }: TaskError): TaskError {
  const kept = causes.slice(0, ERROR_CAUSES_MAX)
  const names = [name, ...kept.map(cause => cause.name)].map(fitName)
  const texts = [message, ...kept.map(cause => cause.message), ...(stack === undefined ? [] : [stack])]
  const reserved = [0, ...kept.map(() => CAUSE_BYTES_KEPT), STACK_BYTES_KEPT]
  const frame = jsonBytes([...names.slice(0, 1), '', null, names.slice(1).map(one => [one, ''])])
  const [ownMessage = '', ...others] = fitTexts(texts, reserved, ERROR_BYTES_MAX - frame)
  return {
    name: names[0] ?? '',
    message: ownMessage,
    ...(stack !== undefined && { stack: others.at(-1) ?? '' }),
    ...(kept.length > 0 && { causes: kept.map((_, at) => causeOf(names[at + 1], others[at])) }),
  }
}

function causeOf(name = '', message = ''): ErrorCause {
  return { name, message }
}

function fitName(name: string): string {
  return cutToBytes(cut(name, SHORT_ERROR_CHARACTERS_MAX), NAME_BYTES_MAX)
}

/** Cuts each text to the room that the texts before it have left, minus the bytes reserved for the texts after it. */
function fitTexts(texts: readonly string[], reserved: readonly number[], room: number): string[] {
  const needed = texts.map((text, at) => Math.min(reserved[at] ?? 0, innerBytes(text)))
  let left = room
  return texts.map((text, at) => {
    const neededBehind = needed.slice(at + 1).reduce((sum, bytes) => sum + bytes, 0)
    const fitted = cutToBytes(text, left - neededBehind)
    left -= innerBytes(fitted)
    return fitted
  })
}

const ELLIPSIS = '…'
const ELLIPSIS_BYTES = 3

/** The beginning of the text that takes at most `most` bytes as JSON text in UTF-8, without its quotes. */
function cutToBytes(text: string, most: number): string {
  // A character takes at least one byte, so a text of megabytes need not be measured to its end.
  const beginning = text.slice(0, Math.max(0, most) + 1).toWellFormed()
  if (beginning.length === text.length && innerBytes(beginning) <= most) return beginning
  let [room, end] = [most - ELLIPSIS_BYTES, 0]
  for (const character of beginning) {
    room -= bytesInJson(character)
    if (room < 0) break
    end += character.length
  }
  return beginning.slice(0, end) + ELLIPSIS
}

function innerBytes(text: string): number {
  return jsonBytes(text) - 2
}

/** Bytes of one character as JSON.stringify writes it. It escapes only control characters, quotes and backslashes. */
function bytesInJson(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return '\b\t\n\f\r'.includes(character) ? 2 : 6
  if (character === '"' || character === '\\') return 2
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}
