import { defined, eachMember, type FieldProblem } from '../values/values.ts'
import type { JsonSchema, Rule, ValueOf } from './rules.ts'
import { COMPONENT, didYouMean, inside, isObject, wrong } from './rules.ts'
import { name } from './scalars.ts'

type ListBounds = {
  readonly min?: number
  readonly max?: number
  /** The name under which the OpenAPI document lists the list. */
  readonly component?: string
  /** A further check of all members together. It runs only when each member fits. */
  readonly together?: (members: readonly never[], path: string) => FieldProblem[]
}

export type ListRule<Element extends Rule> = Rule & { readonly element: Element }

export function listOf<Element extends Rule>(
  element: Element,
  { min = 0, max, component, together }: ListBounds = {},
): ListRule<Element> {
  const expected = listText(min, max)
  return {
    expected,
    element,
    schema: {
      ...defined({ [COMPONENT]: component }),
      type: 'array',
      items: element.schema,
      ...(min > 0 && { minItems: min }),
      ...(max !== undefined && { maxItems: max }),
    },
    problems: (value, path) => {
      if (!Array.isArray(value)) return [{ path, message: wrong(expected, value) }]
      if (value.length < min || value.length > (max ?? value.length)) {
        return [{ path, message: `must be ${expected}, not of ${value.length}` }]
      }
      const problems = value.flatMap((one, index) => element.problems(one, inside(path, index)))
      return problems.length > 0 ? problems : (together?.(value as never[], path) ?? [])
    },
  }
}

function listText(min: number, max: number | undefined): string {
  if (max !== undefined) return `a list of ${min}–${max} members`
  return min === 0 ? 'a list' : `a list of at least ${min} ${min === 1 ? 'member' : 'members'}`
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
    if (!isObject(value)) return [{ path, message: wrong(TAGS, value) }]
    const entries = Object.entries(value)
    if (entries.length > TAGS_MAX) return [{ path, message: `must have at most ${TAGS_MAX} members` }]
    return entries.flatMap(([tag, one]) => [
      ...TAG_NAME.problems(tag, inside(path, tag)),
      ...TAG.problems(one, inside(path, tag)),
    ])
  },
}

/** A rule of a member that may be left out. */
export type Optional<Of extends Rule = Rule> = Of & { readonly isOptional: true }

export function optional<Of extends Rule>(rule: Of): Optional<Of> {
  return { ...rule, isOptional: true }
}

type Optionals<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends Rule ? Optional<Rules[Name]> : never
}

/** The rules of members that may all be left out. */
export function optionals<Rules extends Shape>(rules: Rules): Optionals<Rules> {
  return eachMember(rules, optional) as Optionals<Rules>
}

export type Shape = Readonly<Record<string, Rule>>

/** The rule of an object. Its type follows from its shape, with the comments on the members of the shape. */
export type ObjectRule<Members extends Shape> = Rule & { readonly shape: Members }

/** The rule for an object with these members and no others. The OpenAPI document lists it under `component`. */
export function strict<Members extends Shape>(shape: Members, component?: string): ObjectRule<Members> {
  return objectRule(shape, component, { additionalProperties: false })
}

/** The rule for an object with these members, among others: an answer, to which a later version may add members. */
export function open<Members extends Shape>(shape: Members, component?: string): ObjectRule<Members> {
  return objectRule(shape, component, {})
}

function objectRule<Members extends Shape>(
  shape: Members,
  component: string | undefined,
  closed: { readonly additionalProperties?: false },
): ObjectRule<Members> {
  const expected = 'an object'
  return {
    expected,
    shape,
    schema: { ...defined({ [COMPONENT]: component }), ...objectSchema(shape), ...closed },
    problems: (value, path) => {
      if (!isObject(value)) return [{ path, message: wrong(expected, value) }]
      const unknown = 'additionalProperties' in closed ? unknownProblems(value, path, shape) : []
      return [...memberProblems(value, path, shape), ...unknown]
    },
  }
}

function objectSchema(shape: Shape): JsonSchema {
  const members = Object.entries(shape)
  const required = members.filter(([, rule]) => !isOptional(rule)).map(([name]) => name)
  return {
    type: 'object',
    properties: eachMember(shape, ({ schema }) => schema),
    ...(required.length > 0 && { required }),
  }
}

function isOptional(rule: Rule): rule is Optional {
  return 'isOptional' in rule
}

function memberProblems(
  value: Readonly<Record<string, unknown>>,
  path: string,
  shape: Shape,
): FieldProblem[] {
  return Object.entries(shape).flatMap(([name, rule]) => {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    return member === undefined && isOptional(rule) ? [] : rule.problems(member, inside(path, name))
  })
}

function unknownProblems(value: object, path: string, shape: Shape): FieldProblem[] {
  const known = Object.keys(shape)
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
export function orNull<Of extends Rule>(rule: Of): Rule<ValueOf<Of> | null> {
  const expected = `${rule.expected}, or null`
  return {
    expected,
    schema: { anyOf: [rule.schema, { type: 'null' }] },
    problems: (value, path) => (value === null ? [] : rule.problems(value, path)),
  }
}

/** The rule for an object whose members have names of any kind. */
export function recordOf<Of extends Rule>(rule: Of): Rule<{ readonly [name: string]: ValueOf<Of> }> {
  const expected = 'an object'
  return {
    expected,
    schema: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: rule.schema },
    problems: (value, path) => {
      if (!isObject(value)) return [{ path, message: wrong(expected, value) }]
      return Object.entries(value).flatMap(([name, member]) => rule.problems(member, inside(path, name)))
    },
  }
}

/**
 * The rule for a value that fits one of several rules. A value that fits none has the problems under the rule that it comes nearest to:
 * its constant members fit, and it has the fewest problems. If no single rule is nearest, it has one problem: the `expected` text.
 */
export function anyOf<const Rules extends readonly Rule[]>(
  expected: string,
  rules: Rules,
  { component, keyword = 'anyOf' }: { component?: string; keyword?: 'anyOf' | 'oneOf' } = {},
): Rule<ValueOf<Rules[number]>> {
  return {
    expected,
    schema: { ...defined({ [COMPONENT]: component }), [keyword]: rules.map(({ schema }) => schema) },
    problems: (value, path) => {
      const found = rules.map(rule => rule.problems(value, path))
      if (found.some(problems => problems.length === 0)) return []
      const fitting = found.filter(
        (problems, nth) => hasConstantsOf(rules[nth], value) && problems.every(one => one.path !== path),
      )
      const fewest = Math.min(...fitting.map(problems => problems.length))
      const [nearest, ...others] = fitting.filter(problems => problems.length === fewest)
      return nearest && others.length === 0 ? nearest : [{ path, message: wrong(expected, value) }]
    },
  }
}

/** Whether the constant members of an object rule, such as `outcome: 'fail'`, have these values. */
function hasConstantsOf(rule: Rule | undefined, value: unknown): boolean {
  if (!rule || !('shape' in rule)) return true
  const members = Object.entries((rule as ObjectRule<Shape>).shape)
  return members.every(([name, { schema }]) => !('const' in schema) || schema.const === Object(value)[name])
}

/** The rule of a component that contains itself. It is made when a value is checked. */
export function recursive<Value>(component: string, expected: string, rule: () => Rule): Rule<Value> {
  return {
    expected,
    schema: { [COMPONENT]: component },
    problems: (value, path) => rule().problems(value, path),
  }
}

/** Any value. Another check finds its problems. */
export function anything<Value>(description?: string): Rule<Value> {
  return { expected: description ?? 'a value', schema: defined({ description }), problems: () => [] }
}
