import * as z from 'zod'
import { KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import type { Json } from '../core/json.ts'
import { noFields } from '../core/rules/compound.ts'
import { versionRule, workerIdRule } from '../core/rules/options.ts'
import * as rules from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { fromRule } from './from-rule.ts'
import { looksEncoded } from './paths.ts'
import type { TypeOf } from './type-of.ts'

/** An object that refuses members it does not know, by name: a line for each of them. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const legal = Object.keys(shape)
  return z.strictObject(shape, {
    error: issue => (issue.code === 'unrecognized_keys' ? noFields(issue.keys, legal).join('\n') : undefined),
  })
}

export const optional = z.exactOptional

/** Any JSON; what of it cannot be stored exactly is told before any schema sees it. */
export const json = z.unknown().meta({ description: 'Any JSON' }) as unknown as z.ZodType<Json>

export const typeName = fromRule(typeNameRule)

/** Text that names something: no control characters, which no log shows, and no half of a surrogate pair. */
export function name(maxCharacters: number) {
  return fromRule(rules.name(maxCharacters))
}

/** A name that stands in a path by itself: with a `~` in front it would read as the encoded form of another one. */
export function pathName(maxCharacters: number) {
  const plain = rules.name(maxCharacters)
  const { expected, schema } = plain
  const fits = (text: string) => plain.problems(text, '').length === 0 && !looksEncoded(text)
  return fromRule(rules.text(`${expected}, that does not begin with ~`, fits, schema))
}

export const key = name(KEY_CHARACTERS_MAX).meta({ description: 'Idempotency key, unique within the type' })
export const workerId = fromRule(workerIdRule)
export const userId = name(KEY_CHARACTERS_MAX)

export function whole(min: number, max: number) {
  return fromRule(rules.whole(min, max))
}

/** Milliseconds, up to ten years. */
export function duration(min?: number, max?: number) {
  return fromRule(rules.duration(min, max))
}

const ISO_TIME =
  /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

export const time = fromRule(
  rules.text('a time as 2026-01-31T12:00:00.000Z', isTime, { format: 'date-time' }),
)

/** Dates that no calendar has (February 30th) are none, though `Date` would move them on. */
function isTime(text: string): boolean {
  if (!ISO_TIME.test(text)) return false
  const day = text.slice(0, 10)
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const exists = Number.isFinite(midnight) && new Date(midnight).toISOString().startsWith(day)
  return exists && Date.parse(text) >= 0
}

export const version = fromRule(versionRule)

export const tags = z
  .record(name(128), name(256))
  .refine(value => Object.keys(value).length <= 50, 'must have at most 50 members')

/** A time, as answers show it. */
export const shownTime = z.string().meta({ format: 'date-time' })

/** A number in an answer that counts something, or so many milliseconds. */
export const count = z.int().min(0)

const operation = z.object({ at: shownTime, by: z.string(), what: z.string() })

/** A change by a person: `by` is an IAM principal, the subject of a token, or the local user as `local:NAME`. */
export type ApiOperation = TypeOf<typeof operation>

/** Changes by people. */
export const operations = z.array(operation)

/** Of operations that need to be told nothing. */
export const emptyBody = strict({})

export const limit = whole(1, 100)
export const cursor = z.string().max(2_048)

/** Which page of a list: of those that are asked for nothing else. */
export const pageQuery = strict({ limit: optional(limit), cursor: optional(cursor) })

export type PageQuery = TypeOf<typeof pageQuery>

/** One page of a list, as answers show it. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: optional(z.string()) })
}

/** One page of a list; `nextCursor` asks for the next one, and is left out on the last. */
export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor?: string }
