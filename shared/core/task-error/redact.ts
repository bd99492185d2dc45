import { errorOfThrown, type TaskError } from './task-error.ts'

const REDACTED = '[redacted]'
/** Shorter values are hidden as fields only: many texts contain them by chance. */
const SECRET_CHARACTERS_MIN = 4
const DEPTH_MAX = 8
/** Objects that are copied per log line. Objects that refer to each other have infinitely many paths. */
const OBJECTS_MAX = 5_000

/** Hides the fields that a task's definition marks as secret, in its handler's log lines and in the errors that the handler throws. */
export type Redaction = {
  text(text: string): string
  /** The fields of a log line, copied as JSON shows them, up to 8 levels deep. */
  fields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  error(error: TaskError): TaskError
}

/** The redaction that hides and copies nothing. */
export const nothingRedacted: Redaction = {
  text: text => text,
  fields: fields => fields,
  error: error => error,
}

/**
 * Hides fields by their paths, such as `card.number`, wherever an object contains them. Positions in lists are not part of a path.
 * Texts and numbers of at least four characters that the task's input has at these paths are hidden in every text, too.
 */
export function redactionOf(paths: readonly string[], input: unknown): Redaction {
  if (paths.length === 0) return nothingRedacted
  const marks = paths.map(path => path.split('.'))
  const secrets = secretsIn(input, marks)
  const text = (given: string) =>
    secrets.reduce((hidden, secret) => hidden.replaceAll(secret, REDACTED), given)
  return {
    text,
    fields: fields => {
      const hiding = { marks, secrets, text, objects: 0 }
      return copied(fields, hiding, [], 0) as Readonly<Record<string, unknown>>
    },
    error: ({ name, message, stack, causes }) => ({
      name: text(name),
      message: text(message),
      ...(stack !== undefined && { stack: text(stack) }),
      ...(causes && {
        causes: causes.map(cause => ({ name: text(cause.name), message: text(cause.message) })),
      }),
    }),
  }
}

type Path = readonly string[]
type Hiding = {
  readonly marks: readonly Path[]
  readonly secrets: readonly string[]
  readonly text: (text: string) => string
  /** How many objects have been copied. */
  objects: number
}

/** The redacted copy of a value. A value that cannot be read is hidden. */
function copied(given: unknown, hiding: Hiding, path: Path, depth: number): unknown {
  try {
    return copiedPlain(plainOf(given), hiding, path, depth)
  } catch {
    return REDACTED
  }
}

function copiedPlain(value: unknown, hiding: Hiding, path: Path, depth: number): unknown {
  if (typeof value === 'string') return hiding.text(value)
  if (typeof value === 'number' || typeof value === 'bigint')
    return hiding.secrets.includes(String(value)) ? REDACTED : value
  if (typeof value === 'boolean' || value === undefined || value === null) return value
  if (typeof value !== 'object' || isOpaque(value)) return REDACTED
  hiding.objects += 1
  if (depth > DEPTH_MAX || hiding.objects > OBJECTS_MAX) return REDACTED
  if (Array.isArray(value)) return value.map(member => copied(member, hiding, path, depth + 1))
  const members = Object.entries(value).map(([name, member]) => {
    const at = [...path, name]
    const shown = isMarked(at, hiding.marks) ? REDACTED : copied(member, hiding, at, depth + 1)
    return [hiding.text(name), shown] as const
  })
  return Object.fromEntries(members)
}

/** The value as plain data. JSON shows no members of errors, maps and sets, so they are converted here. */
function plainOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isOpaque(value)) return value
  if (value instanceof Error) return errorOfThrown(value)
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (!('toJSON' in value) || typeof value.toJSON !== 'function') return value
  const converted: unknown = value.toJSON('')
  return converted instanceof Error ? errorOfThrown(converted) : converted
}

/** Whether the value is bytes or a boxed value. Its members are pieces of a text, in which no secret is found. */
function isOpaque(value: object): boolean {
  return ArrayBuffer.isView(value) || value instanceof String || value instanceof Number
}

/** The secrets in an input. Longer ones come first, because one secret may be part of another. */
function secretsIn(input: unknown, marks: readonly Path[]): string[] {
  const found = markedTexts(input, marks, [], false)
  return [...new Set(found)]
    .filter(secret => secret.length >= SECRET_CHARACTERS_MIN)
    .sort((a, b) => b.length - a.length)
}

/** The texts and numbers at or below marked paths. An input is stored JSON, so its depth is bounded. */
function markedTexts(value: unknown, marks: readonly Path[], path: Path, isBelow: boolean): string[] {
  if (!isWalked(value))
    return isBelow && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : []
  return Object.entries(value).flatMap(([name, member]) => {
    const at = Array.isArray(value) ? path : [...path, name]
    return markedTexts(member, marks, at, isBelow || isMarked(at, marks))
  })
}

function isMarked(path: Path, marks: readonly Path[]): boolean {
  return marks.some(mark => {
    const from = path.length - mark.length
    return from >= 0 && mark.every((name, at) => path[from + at] === name)
  })
}

/** Whether the value is a list or a plain object, the only containers in an input. */
function isWalked(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}
