import { DELAY_MS_MAX } from '../bounds.ts'
import { isName, TRACEPARENT } from '../values/text.ts'
import { didYouMean, type Rule, unless, wrong } from './rules.ts'

export function whole(min: number, max: number, unit = ''): Rule<number> {
  const expected = `a whole number${unit} from ${min} to ${max}`
  return {
    expected,
    schema: { type: 'integer', minimum: min, maximum: max },
    problems: (value, path) =>
      unless(isWithin(value, min, max) && Number.isInteger(value), expected, value, path),
  }
}

/** Milliseconds, up to ten years. */
export function duration(min = 0, max = DELAY_MS_MAX): Rule<number> {
  return whole(min, max, ' of milliseconds')
}

/** The revision that a change is meant for. Another present one refuses the request with 409; any one fits when left out. */
export const revisionRule: Rule<number> = {
  ...whole(0, Number.MAX_SAFE_INTEGER),
  schema: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      'The revision that the change is meant for. Another present one refuses the request with 409; any one fits when left out.',
  },
}

/** A whole number in an answer. */
export function integer(min = -Number.MAX_SAFE_INTEGER): Rule<number> {
  return { ...whole(min, Number.MAX_SAFE_INTEGER), expected: 'a whole number' }
}

/** Text of at most so many characters. */
export function shortText(charactersMax: number): Rule<string> {
  return text(`text of at most ${charactersMax} characters`, value => value.length <= charactersMax, {
    maxLength: charactersMax,
  })
}

/** One value and no other. */
export function literal<const Value extends string | boolean>(value: Value): Rule<Value> {
  const expected = JSON.stringify(value)
  return {
    expected,
    schema: { type: typeof value, const: value },
    problems: (given, path) => unless(given === value, expected, given, path),
  }
}

export function number(): Rule<number> {
  const expected = 'a number'
  return {
    expected,
    schema: { type: 'number' },
    problems: (value, path) => unless(Number.isFinite(value), expected, value, path),
  }
}

export function fraction(): Rule<number> {
  const expected = 'a number from 0 to 1'
  return {
    expected,
    schema: { type: 'number', minimum: 0, maximum: 1 },
    problems: (value, path) => unless(isWithin(value, 0, 1), expected, value, path),
  }
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

export function flag(): Rule<boolean> {
  const expected = 'true or false'
  return {
    expected,
    schema: { type: 'boolean' },
    problems: (value, path) => unless(typeof value === 'boolean', expected, value, path),
  }
}

export function oneOf<const Words extends readonly string[]>(...words: Words): Rule<Words[number]> {
  const expected = `one of ${words.join(', ')}`
  return {
    expected,
    schema: { type: 'string', enum: words },
    problems: (value, path) => {
      if (typeof value !== 'string') return [{ path, message: wrong(expected, value) }]
      if (words.includes(value)) return []
      return [{ path, message: `${wrong(expected, value)}${didYouMean(value, words)}` }]
    },
  }
}

/** Text. `expected` and `schema` say what `fits` checks. */
export function text(expected = 'text', fits = (_text: string) => true, schema = {}): Rule<string> {
  return {
    expected,
    schema: { type: 'string', ...schema },
    problems: (value, path) => unless(typeof value === 'string' && fits(value), expected, value, path),
  }
}

/** Text that names something. It has no control character, which logs do not show, and no half of a surrogate pair. */
export function name(maxCharacters: number): Rule<string> {
  return text(
    `text of 1–${maxCharacters} characters, none of them a control character or half a surrogate pair`,
    value => isName(value, maxCharacters),
    { minLength: 1, maxLength: maxCharacters },
  )
}

/** A name that is a whole segment of a path. With a `~` in front it would look like the encoded form of another name. */
export function pathName(maxCharacters: number): Rule<string> {
  const plain = name(maxCharacters)
  const fits = (value: string) => plain.problems(value, '').length === 0 && !value.startsWith('~')
  return text(`${plain.expected}, that does not begin with ~`, fits, plain.schema)
}

const ISO_TIME =
  /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

export const time = text('a time such as 2026-01-31T12:00:00.000Z', isTime, { format: 'date-time' })

/** Whether the text is a time. `Date` would read February 30th as a day in March, so such dates are refused here. */
function isTime(text: string): boolean {
  if (!ISO_TIME.test(text)) return false
  const day = text.slice(0, 10)
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const exists = Number.isFinite(midnight) && new Date(midnight).toISOString().startsWith(day)
  return exists && Date.parse(text) >= 0
}

export const traceparentRule = text('a W3C traceparent', isTraceparent, { pattern: TRACEPARENT.source })

export function isTraceparent(value: string): boolean {
  return TRACEPARENT.test(value)
}
