import { DELAY_MS_MAX } from '../bounds.ts'
import { isName, TRACEPARENT } from '../values/text.ts'
import { didYouMean, type JsonSchema, type Rule, unless, wrong } from './rules.ts'

/** The rule for a single value. `expected` and `schema` say what `isLegal` checks. */
function scalar<Value>(
  expected: string,
  schema: JsonSchema,
  isLegal: (value: unknown) => boolean,
): Rule<Value> {
  return { expected, schema, problems: (value, path) => unless(isLegal(value), expected, value, path) }
}

export function whole(min: number, max: number, unit = ''): Rule<number> {
  return scalar(
    `a whole number${unit} from ${min} to ${max}`,
    { type: 'integer', minimum: min, maximum: max },
    value => isWithin(value, min, max) && Number.isInteger(value),
  )
}

/** The rule with a description for the documents of the API. */
export function described<Value>(rule: Rule<Value>, description: string): Rule<Value> {
  return { ...rule, schema: { ...rule.schema, description } }
}

/** Milliseconds, up to ten years. */
export function duration(min = 0, max = DELAY_MS_MAX): Rule<number> {
  return whole(min, max, ' of milliseconds')
}

/**
 * The revision that the change was made from. If the present revision is another one, the request is refused with 409. Left out, any
 * revision fits.
 */
export const revisionRule = described(
  whole(0, Number.MAX_SAFE_INTEGER),
  'The revision that the change was made from. If the present revision is another one, the request is refused with 409. Left out, any revision fits.',
)

/** A whole number in an answer. */
export function integer(min = -Number.MAX_SAFE_INTEGER): Rule<number> {
  return { ...whole(min, Number.MAX_SAFE_INTEGER), expected: 'a whole number' }
}

/** Text of at most this many characters. */
export function shortText(charactersMax: number): Rule<string> {
  return text(`text of at most ${charactersMax} characters`, value => value.length <= charactersMax, {
    maxLength: charactersMax,
  })
}

/** One value and no other. */
export function literal<const Value extends string | boolean>(value: Value): Rule<Value> {
  return scalar(JSON.stringify(value), { type: typeof value, const: value }, given => given === value)
}

export function number(): Rule<number> {
  return scalar('a number', { type: 'number' }, value => Number.isFinite(value))
}

export function fraction(): Rule<number> {
  return scalar('a number from 0 to 1', { type: 'number', minimum: 0, maximum: 1 }, value =>
    isWithin(value, 0, 1),
  )
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

export function flag(): Rule<boolean> {
  return scalar('true or false', { type: 'boolean' }, value => typeof value === 'boolean')
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
  return scalar(expected, { type: 'string', ...schema }, value => typeof value === 'string' && fits(value))
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
