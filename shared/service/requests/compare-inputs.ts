import { unknownFieldMessages } from '../../core/rules/compound.ts'
import { inside, isObject, wrong } from '../../core/rules/rules.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
import { type FieldProblem, type Json, sortedJson } from '../../core/values/values.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { inputSchemaOf } from '../../runtime/types/input-schemas.ts'

/**
 * Compares an input with the JSON Schema that its type has registered. The handler's definition judges the input again, by its own schema.
 * So this comparison refuses nothing that a definition may accept, where libraries and JSON Schema differ:
 *
 * - a text has a length in code points and one in UTF-16 units, and a pattern is read with and without the flag `u`: either may fit;
 * - `oneOf` is read as `anyOf`, and `multipleOf` is for whole numbers;
 * - `format` is a comment, and so is each keyword that is not named in this file.
 *
 * A schema that cannot be read accepts every input.
 */

/**
 * The system for a request that brings inputs from outside: they are compared with the schemas of their types. A schema that a type of an
 * earlier version contains is not compared, since it may be narrower than the definition.
 */
export function checkingInputs<On extends System>(system: On): On {
  return {
    // The table client compares nothing, because its program may not read the schemas.
    checkInput: async (configuration: TypeConfiguration, input: Json | undefined) => {
      if (configuration.schemaName === undefined || configuration.checkInput === false) return []
      const schema = await inputSchemaOf(system, configuration)
      return schema ? schemaProblems(schema, input, 'input') : []
    },
    ...system,
  }
}

/** What is compared at most: a schema that refers to itself in several places could take for ever. The rest fits. */
const STEPS_MAX = 100_000
/** An input has at most 200 levels. Only a schema that refers to itself without end is deeper. */
const DEPTH_MAX = 1_000
/** A refusal names at most this many fields. */
const PROBLEMS_MAX = 20
/** Longer texts are not compared with patterns, because a bad pattern may take time that grows with the square of the length. */
const MATCHED_CHARACTERS_MAX = 10_000

type Schema = Readonly<Record<string, unknown>>
/** `expected` says what the value itself should be. `isChoice`: it should be one of some constants. */
type Found = FieldProblem & { readonly expected?: string; readonly isChoice?: boolean }
type Walk = { readonly root: unknown; left: number }
/** Compares a part of the value with a part of the schema. Without a name, it is the value itself. */
type Inner = (part: unknown, value: unknown, name?: string | number) => Found[]

/** The problems of an input, each with its dotted path. An input that is left out is compared with the required members of an object. */
export function schemaProblems(root: unknown, input: Json | undefined, path: string): FieldProblem[] {
  const walk = { root, left: STEPS_MAX }
  const { required, properties } = Object(root) as Schema
  const found =
    input === undefined
      ? problemsAt(walk, { required, properties }, {}, path)
      : problemsAt(walk, root, input, path)
  return found.slice(0, PROBLEMS_MAX).map(({ path, message }) => ({ path, message }))
}

/** `isPart`: the schema is a part of an intersection. */
function problemsAt(
  walk: Walk,
  schema: unknown,
  value: unknown,
  path: string,
  depth = 0,
  isPart = false,
): Found[] {
  if (schema === false) return [{ path, message: 'is not allowed here' }]
  if (!isObject(schema) || depth > DEPTH_MAX || walk.left-- <= 0) return []
  const inner: Inner = (part, member, name) =>
    name === undefined
      ? problemsAt(walk, part, member, path, depth + 1, isPart)
      : problemsAt(walk, part, member, inside(path, name), depth + 1)
  // Libraries close the parts of an intersection one by one, although a member of another part is legal.
  const opened = isPart ? { ...schema, additionalProperties: undefined } : schema
  return [
    ...ownProblems(schema, value, path),
    ...(schema.$ref === undefined ? [] : inner(referenced(walk.root, schema.$ref), value)),
    ...listIn(schema.allOf).flatMap(part => problemsAt(walk, part, value, path, depth + 1, true)),
    ...[schema.anyOf, schema.oneOf].flatMap(branches => unionProblems(listIn(branches), value, path, inner)),
    ...memberProblems(opened, value, path, inner),
    ...itemProblems(schema, value, inner),
  ]
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function referenced(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) return undefined
  const names = reference.split('/').slice(1)
  return names
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, name) => (Object.hasOwn(Object(at), name) ? Object(at)[name] : undefined), root)
}

function ownProblems(schema: Schema, value: unknown, path: string): Found[] {
  const choice = choiceIn(schema, value)
  const expected = choice ?? typeIn(schema, value) ?? boundIn(schema, value)
  if (expected === undefined) return []
  return [{ path, expected, isChoice: choice !== undefined, message: wrong(expected, value) }]
}

const CHOICES_SHOWN_MAX = 20

function choiceIn(schema: Schema, value: unknown): string | undefined {
  const choices = 'const' in schema ? [schema.const] : listIn(schema.enum)
  const own = choices.length > 0 && sortedJson(value as Json)
  if (own === false || choices.some(choice => sortedJson(choice as Json) === own)) return undefined
  const shown = choices.slice(0, CHOICES_SHOWN_MAX).map(choice => JSON.stringify(choice))
  return `${choices.length === 1 ? '' : 'one of '}${shown.join(', ')}`
}

/** For some libraries a list is an object, whose members are its items. */
const isComposite = (value: unknown): value is Schema => typeof value === 'object' && value !== null

const TYPES: Readonly<Record<string, readonly [expected: string, fits: (value: unknown) => boolean]>> = {
  string: ['text', value => typeof value === 'string'],
  number: ['a number', value => typeof value === 'number'],
  integer: ['a whole number', Number.isInteger],
  boolean: ['true or false', value => typeof value === 'boolean'],
  null: ['null', value => value === null],
  array: ['a list', Array.isArray],
  object: ['an object', isComposite],
}

/** The types of a schema as words, if the value has none of them. */
function typeIn({ type }: Schema, value: unknown): string | undefined {
  const types = [type].flat().map(name => TYPES[String(name)])
  const isLegal = types.some(one => !one || one[1](value))
  return isLegal ? undefined : types.map(one => one?.[0]).join(' or ')
}

type Bound = readonly [
  keyword: string,
  measure: (value: unknown, schema: Schema) => number | undefined,
  fits: (measured: number, limit: number) => boolean,
  expected: string,
]
const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined)
const wholeOf = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : undefined)
const unitsOf = (value: unknown) => (typeof value === 'string' ? value.length : undefined)
const pointsOf = (value: unknown) => (typeof value === 'string' ? [...value].length : undefined)
/** A library may cut a tuple to its length, or fill it, before it counts the items. */
const itemsOf = (value: unknown, { prefixItems }: Schema) =>
  Array.isArray(value) && !prefixItems ? value.length : undefined
const atLeast = (measured: number, limit: number) => measured >= limit
const atMost = (measured: number, limit: number) => measured <= limit

const BOUNDS: readonly Bound[] = [
  ['minimum', numberOf, atLeast, 'at least #'],
  ['maximum', numberOf, atMost, 'at most #'],
  ['exclusiveMinimum', numberOf, (measured, limit) => measured > limit, 'more than #'],
  ['exclusiveMaximum', numberOf, (measured, limit) => measured < limit, 'less than #'],
  ['multipleOf', wholeOf, (measured, limit) => !wholeOf(limit) || measured % limit === 0, 'a multiple of #'],
  ['minLength', unitsOf, atLeast, 'text of at least # characters'],
  ['maxLength', pointsOf, atMost, 'text of at most # characters'],
  ['minItems', itemsOf, atLeast, 'a list of at least # items'],
  ['maxItems', itemsOf, atMost, 'a list of at most # items'],
]

function boundIn(schema: Schema, value: unknown): string | undefined {
  const { pattern, not } = schema
  if (isObject(not) && Object.keys(not).length === 0) return 'left out'
  for (const [keyword, measure, fits, expected] of BOUNDS) {
    const limit = schema[keyword]
    const measured = typeof limit === 'number' ? measure(value, schema) : undefined
    if (measured !== undefined && !fits(measured, limit as number))
      return expected.replace('#', String(limit))
  }
  const isCompared =
    typeof pattern === 'string' && typeof value === 'string' && value.length <= MATCHED_CHARACTERS_MAX
  return isCompared && !matches(pattern, value) ? `text that matches ${pattern}` : undefined
}

/** Whether the text matches the pattern as one of its readings. A pattern that is not a regular expression matches everything. */
function matches(pattern: string, text: string): boolean {
  return ['u', ''].some(flags => {
    try {
      return new RegExp(pattern, flags).test(text)
    } catch {
      // Many patterns are legal without `u` only.
      return flags === ''
    }
  })
}

/** The problems of a value that fits no branch: the problems of the closest branch, or what the branches expect of the value. */
function unionProblems(branches: readonly unknown[], value: unknown, path: string, inner: Inner): Found[] {
  const found = branches.map(branch => inner(branch, value))
  if (found.length === 0 || found.some(problems => problems.length === 0)) return []
  const isOther = (problems: Found[]) => problems.some(one => one.isChoice)
  const near = found.filter(problems => problems.every(one => one.path !== path))
  const closest = near.find(problems => !isOther(problems)) ?? near[0]
  if (closest) return closest
  const expected = [...new Set(found.flat().flatMap(one => (one.path === path ? (one.expected ?? []) : [])))]
  return [{ path, expected: expected.join(' or '), message: wrong(expected.join(' or '), value) }]
}

/** Libraries pass over members of these names, because they could change a prototype. */
const PASSED_OVER = ['__proto__', 'constructor', 'prototype']

function memberProblems(schema: Schema, value: unknown, path: string, inner: Inner): Found[] {
  if (!isComposite(value) || (Array.isArray(value) && schema.type !== 'object')) return []
  const { required, additionalProperties: others, patternProperties } = schema
  const members = isObject(schema.properties) ? schema.properties : {}
  const has = (name: unknown) => typeof name === 'string' && Object.hasOwn(value, name)
  const rest = Object.keys(value).filter(name => !Object.hasOwn(members, name) && !PASSED_OVER.includes(name))
  const messages = others === false ? unknownFieldMessages(rest, Object.keys(members)) : []
  return [
    ...listIn(required).flatMap(name => {
      const expected = typeIn(Object(members[String(name)]), undefined) ?? 'a value'
      return has(name) ? [] : [{ path: inside(path, String(name)), message: wrong(expected, undefined) }]
    }),
    ...Object.entries(members).flatMap(([name, part]) => (has(name) ? inner(part, value[name], name) : [])),
    ...(patternProperties === undefined ? rest : []).flatMap((name, nth) => {
      const message = messages[nth]
      return message === undefined
        ? inner(others, value[name], name)
        : [{ path: inside(path, name), message }]
    }),
  ]
}

function itemProblems({ prefixItems, items }: Schema, value: unknown, inner: Inner): Found[] {
  const first = listIn(prefixItems)
  return listIn(value).flatMap((item, nth) => inner(nth < first.length ? first[nth] : items, item, nth))
}
