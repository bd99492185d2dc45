/**
 * Rules say what a value must be. Task definitions, constructs of the infrastructure and the HTTP API check their values with the
 * same rules, so each of them refuses a wrong field with the same sentence.
 *
 * This file has the type of a rule and the form of its messages. `scalars.ts` and `compound.ts` make rules for single values and
 * for lists and objects. `options.ts` and `type-configuration.ts` hold the rules of options and of task types. This
 * file also suggests similar names, and bounds what a handler may report.
 *
 * A message follows the name of its field: `must be EXPECTED, not VALUE`. The part of the value that it repeats is bounded.
 */

import { DELAY_MS_MAX, PRIORITY_MAX, TYPE_CHARACTERS_MAX } from '../bounds.ts'
import { isName } from '../values/text.ts'
import type { FieldProblem, Json } from '../values/values.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type Rule<Value = unknown> = {
  /** The legal values, as a noun phrase. */
  readonly expected: string
  /** The legal values as JSON Schema, which documents the fields of the API. */
  readonly schema: JsonSchema
  /** The problems of a value, each with its dotted path, which begins with `path`. Undefined counts as not given. */
  problems(value: unknown, path: string): FieldProblem[]
  /** Carries the type for the compiler; no rule has this member at run time. */
  readonly value?: Value
}

/** The member of a rule's schema that names the component under which the OpenAPI document lists it. */
export const COMPONENT = '$component'

/**
 * The type of the values that a rule accepts, read-only at every depth. The type of an object keeps the doc comments on the members of
 * its shape, so that editors show them where the type is used.
 */
export type ValueOf<One> = One extends { readonly shape: infer Members }
  ? ObjectOf<Members>
  : One extends { readonly element: infer Element }
    ? ReadonlyArray<ValueOf<Element>>
    : One extends { readonly value?: infer Value }
      ? ReadonlyDeep<Exclude<Value, undefined>>
      : never

type OptionalIn<Members> = {
  [Name in keyof Members]: Members[Name] extends { readonly isOptional: true } ? Name : never
}[keyof Members]

type ObjectOf<Members> = Flat<
  RequiredMembers<Members, Exclude<keyof Members, OptionalIn<Members>>> &
    OptionalMembers<Members, OptionalIn<Members>>
>

/** Both types map over the keys of the shape itself, because the compiler copies doc comments only from there. */
type RequiredMembers<Members, Names extends keyof Members> = {
  readonly [Name in Names]: ValueOf<Members[Name]>
}
type OptionalMembers<Members, Names extends keyof Members> = {
  readonly [Name in Names]?: ValueOf<Members[Name]>
}

type Flat<Members> = { [Name in keyof Members]: Members[Name] } & {}

/** The read-only form of a type. JSON is read-only already, and its type nests without end. */
type ReadonlyDeep<Value> =
  IsJson<Value> extends true
    ? Value
    : Value extends ReadonlyArray<infer Member>
      ? ReadonlyArray<ReadonlyDeep<Member>>
      : Value extends object
        ? { readonly [Name in keyof Value]: ReadonlyDeep<Value[Name]> }
        : Value

/** True only for `Json` itself. A plain `extends` would also accept object types whose members are all optional. */
type IsJson<Value> =
  (<Any>() => Any extends Value ? 1 : 2) extends <Any>() => Any extends Json ? 1 : 2 ? true : false

/** The problem of a value that is not legal, or none. */
export function unless(isLegal: boolean, expected: string, value: unknown, path: string): FieldProblem[] {
  return isLegal ? [] : [{ path, message: wrong(expected, value) }]
}

/** The message about a value that is missing or not legal. */
export function wrong(expected: string, value: unknown): string {
  return value === undefined ? `is required: ${expected}` : `must be ${expected}, not ${shown(value)}`
}

const SHOWN_CHARACTERS = 80

/** A value as messages repeat it: a text up to 80 characters, a number in full, and only the kind of any other value. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${cutShort(value.toWellFormed())}'`
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return value === null ? 'null' : 'an object'
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  return String(value)
}

function cutShort(text: string): string {
  const plain = text.replace(/\p{Cc}/gu, '·')
  return plain.length > SHOWN_CHARACTERS ? `${plain.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : plain
}

/** Whether a value is an object with members, thus no list and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function inside(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}

/** The path of a member some levels below `at`. */
export function joinPath(at: string, path: readonly string[]): string {
  return path.reduce(inside, at)
}

/**
 * Bounds of what a handler may report at the end of its run; the API has the same bounds. A number outside them cannot be stored,
 * or leads to a time beyond the last `Date`. Each function returns the problem, as words that follow the name of the argument.
 */

export function delayProblem(value: unknown): string | undefined {
  const isLegal = typeof value === 'number' && value >= 0 && value <= DELAY_MS_MAX
  return isLegal
    ? undefined
    : `must be a number of milliseconds from 0 to ${DELAY_MS_MAX} (ten years), not ${shown(value)}`
}

export function priorityProblem(value: unknown): string | undefined {
  const isLegal = Number.isInteger(value) && Math.abs(value as number) <= PRIORITY_MAX
  return isLegal
    ? undefined
    : `must be a whole number from ${-PRIORITY_MAX} to ${PRIORITY_MAX}, not ${shown(value)}`
}

export function stageProblem(value: unknown): string | undefined {
  const isLegal = typeof value === 'string' && isName(value, TYPE_CHARACTERS_MAX)
  return isLegal
    ? undefined
    : `must be a text of 1–${TYPE_CHARACTERS_MAX} characters without control characters, not ${shown(value)}`
}

/** The delay in whole milliseconds. A fraction is rounded up, so that no task starts early. */
export function wholeDelay(delayMs: number): number {
  return Math.ceil(delayMs)
}

const NEAREST_NAMES_MAX = 3
/** Longer names are not compared. Names of types have at most 100 characters, so a longer name is not a typing mistake. */
const COMPARED_CHARACTERS_MAX = 120

/** The names that are like `name`: those that differ by a typing mistake or by case. At most three, nearest first. */
function nearest(name: string, candidates: readonly string[]): string[] {
  if (name.length > COMPARED_CHARACTERS_MAX) return []
  const wanted = name.toLowerCase()
  // Two letters that changed places are two edits.
  const most = Math.max(wanted.length < BEGINNING_LETTERS ? 1 : 2, Math.floor(wanted.length / 3))
  return candidates
    .map(candidate => ({ candidate, distance: distanceOf(wanted, candidate.toLowerCase(), most) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, NEAREST_NAMES_MAX)
    .map(({ candidate }) => candidate)
}

/** The question at the end of a message about an unknown name, or an empty text. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const found = nearest(name, candidates)
  return found.length === 0 ? '' : `; did you mean ${found.map(one => `'${one}'`).join(' or ')}?`
}

/** Two names that begin with this many equal letters are alike, such as retry and retries. */
const BEGINNING_LETTERS = 4
/** How many letters of each name may follow the common beginning. */
const DIFFERENT_LETTERS = 3

function haveOneBeginning(a: string, b: string): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  return same >= BEGINNING_LETTERS && Math.max(a.length, b.length) - same <= DIFFERENT_LETTERS
}

/** The number of edits between two names. A name within the other, or with the same beginning, counts as just near enough. */
function distanceOf(a: string, b: string, most: number): number {
  if (a !== b && (isWithin(a, b) || isWithin(b, a) || haveOneBeginning(a, b))) return most
  return Math.abs(a.length - b.length) > most ? Number.POSITIVE_INFINITY : edits(a, b)
}

function isWithin(short: string, long: string): boolean {
  return short.length >= BEGINNING_LETTERS && long.includes(short)
}

/** How many letters must be inserted, removed or replaced to make `b` of `a`. */
function edits(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + Number(a[row - 1] !== b[column - 1])
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    above = line
  }
  return above[b.length] ?? 0
}

const LISTED_NAMES_MAX = 5

/** The end of a message about an unknown name: the nearest names first, at most five in all, and the number of the others. */
export function thereAre(name: string, existing: readonly string[]): string {
  if (existing.length === 0) return '; none is registered yet'
  const near = nearest(name, existing)
  const others = existing.filter(one => !near.includes(one)).sort()
  const first = [...near, ...others].slice(0, LISTED_NAMES_MAX)
  const more = existing.length - first.length
  const listed = `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return near.length === 0 ? `; there are ${listed}` : `${didYouMean(name, near)} There are ${listed}`
}

/** The problem of a name whose type is not registered. */
export function unknownTypeProblem(type: string, existing: readonly string[]): string {
  return `must name a registered type; '${type}' is not registered${thereAre(type, existing)}`
}

const FLOW_OPTIONS: ReadonlySet<string> = new Set(['deadlineMs', 'retentionMs'])

/** The problems of options that a flow cannot have, because each of its steps has its own. */
export function flowOptionProblems(options: object, at = ''): FieldProblem[] {
  return Object.entries(options)
    .filter(([option, value]) => value !== undefined && !FLOW_OPTIONS.has(option))
    .map(([option]) => ({
      path: inside(at, option),
      message:
        'is for the steps of a flow: set it on the step, or on its type; a flow has deadlineMs and retentionMs',
    }))
}
