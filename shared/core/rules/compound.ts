import type { FieldProblem } from '../errors.ts'
import { didYouMean } from './nearest.ts'
import { inside, type JsonSchema, type Rule, type ValueOf, wrong } from './rules.ts'
import { name } from './scalars.ts'

type ListBounds = {
  readonly min?: number
  readonly max: number
  /** A further check of all members together. It runs only when each member fits. */
  readonly together?: (members: readonly never[], path: string) => FieldProblem[]
}

export function listOf<Value>(member: Rule<Value>, { min = 0, max, together }: ListBounds): Rule<Value[]> {
  const expected = `a list of ${min}–${max} members`
  return {
    expected,
    schema: { type: 'array', items: member.schema, minItems: min, maxItems: max },
    problems: (value, path) => {
      if (!Array.isArray(value)) return [{ path, message: wrong(expected, value) }]
      if (value.length < min || value.length > max) {
        return [{ path, message: `must be ${expected}, not of ${value.length}` }]
      }
      const problems = value.flatMap((one, index) => member.problems(one, inside(path, index)))
      return problems.length > 0 ? problems : (together?.(value as never[], path) ?? [])
    },
  }
}

const TAG_NAME_CHARACTERS_MAX = 128
const TAG_CHARACTERS_MAX = 256
const TAGS_MAX = 50
const TAGS = `an object with at most ${TAGS_MAX} texts`
const TAG_NAME = name(TAG_NAME_CHARACTERS_MAX)
const TAG = name(TAG_CHARACTERS_MAX)

/** The rule for tags. It checks them where they are: a copy made by assignment would lose a tag named `__proto__`. */
export const tagsRule: Rule<Readonly<Record<string, string>>> = {
  expected: TAGS,
  schema: {
    type: 'object',
    maxProperties: TAGS_MAX,
    propertyNames: TAG_NAME.schema,
    additionalProperties: TAG.schema,
  },
  problems: (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return [{ path, message: wrong(TAGS, value) }]
    const entries = Object.entries(value)
    if (entries.length > TAGS_MAX) return [{ path, message: `must have at most ${TAGS_MAX} members` }]
    return entries.flatMap(([tag, one]) => [
      ...TAG_NAME.problems(tag, inside(path, tag)),
      ...TAG.problems(one, inside(path, tag)),
    ])
  },
}

type Fields = Readonly<Record<string, Rule>>

type Given<Required extends Fields, Optional extends Fields> = {
  -readonly [Name in keyof Required]: ValueOf<Required[Name]>
} & { -readonly [Name in keyof Optional]?: ValueOf<Optional[Name]> }

/** The rule for an object with these fields and no others. */
export function objectOf<Required extends Fields, Optional extends Fields>(
  required: Required,
  optional: Optional,
): Rule<Given<Required, Optional>> {
  const expected = 'an object'
  const fields: Fields = { ...required, ...optional }
  return {
    expected,
    schema: objectSchema(fields, Object.keys(required)),
    problems: (value, path) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        return [{ path, message: wrong(expected, value) }]
      }
      return [...fieldProblems(value, path, fields, required), ...unknownProblems(value, path, fields)]
    },
  }
}

function objectSchema(fields: Fields, required: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function fieldProblems(value: object, path: string, fields: Fields, required: Fields): FieldProblem[] {
  return Object.entries(fields).flatMap(([name, rule]) => {
    const member = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
    const isLeftOut = member === undefined && !Object.hasOwn(required, name)
    return isLeftOut ? [] : rule.problems(member, inside(path, name))
  })
}

function unknownProblems(value: object, path: string, fields: Fields): FieldProblem[] {
  const known = Object.keys(fields)
  const unknown = Object.entries(value).filter(
    ([name, member]) => !known.includes(name) && member !== undefined,
  )
  const messages = unknownFieldMessages(
    unknown.map(([name]) => name),
    known,
  )
  return unknown.map(([name], index) => ({ path: inside(path, name), message: messages[index] ?? '' }))
}

/**
 * The messages about at most this many unknown fields suggest known ones: an object may have any number of unknown fields, and each
 * search takes time.
 */
const EXPLAINED_FIELDS_MAX = 20

/** The message about each unknown field. */
export function unknownFieldMessages(names: readonly string[], known: readonly string[]): string[] {
  return names.map((name, index) =>
    index < EXPLAINED_FIELDS_MAX ? unknownFieldMessage(name, known) : 'is not a field here',
  )
}

function unknownFieldMessage(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'is not a field here; it takes none'
  const hint = didYouMean(name, known)
  const fields = known.join(', ')
  return hint === ''
    ? `is not a field here; the fields are ${fields}`
    : `is not a field here${hint} The fields are ${fields}`
}

/** The rule for a value or null. Null returns the field to its default. */
export function orNull<Value>(rule: Rule<Value>): Rule<Value | null> {
  const expected = `${rule.expected}, or null`
  return {
    expected,
    schema: { anyOf: [rule.schema, { type: 'null' }] },
    problems: (value, path) => (value === null ? [] : rule.problems(value, path)),
  }
}

/** Any value. Another check finds its problems. */
export function anything<Value>(description: string): Rule<Value> {
  return { expected: description, schema: { description }, problems: () => [] }
}
