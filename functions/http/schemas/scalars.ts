import * as z from 'zod'
import { looksEncoded } from '../../../shared/api/paths.ts'
import { MAX_KEY_LENGTH } from '../../../shared/core/bounds.ts'
import type { Json } from '../../../shared/core/json.ts'
import { isName } from '../../../shared/core/name.ts'
import { noFields } from '../../../shared/core/rules/compound.ts'
import { versionRule, workerIdRule } from '../../../shared/core/rules/options.ts'
import * as rules from '../../../shared/core/rules/scalars.ts'
import { typeNameRule } from '../../../shared/core/rules/type-configuration.ts'
import { fromRule } from './from-rule.ts'

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
  const { expected, schema } = rules.name(maxCharacters)
  const fits = (text: string) => isName(text, maxCharacters) && !looksEncoded(text)
  return fromRule(rules.text(`${expected}, that does not begin with ~`, fits, schema))
}

export const key = name(MAX_KEY_LENGTH).meta({ description: 'Idempotency key, unique within the type' })
export const workerId = fromRule(workerIdRule)
export const userId = name(MAX_KEY_LENGTH)

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

/** Changes by people. */
export const operations = z.array(z.object({ at: shownTime, by: z.string(), what: z.string() }))
