import * as z from 'zod'
import { looksEncoded } from '../../../shared/core/api-paths.ts'
import type { Json } from '../../../shared/core/json.ts'
import {
  MAX_DELAY_MS,
  MAX_KEY_LENGTH,
  MAX_TYPE_LENGTH,
  TYPE_NAME_PATTERN,
  WORKER_ID_BYTES_MAX,
} from '../../../shared/core/limits.ts'
import { isName } from '../../../shared/core/name.ts'
import { isShortWorkerId } from '../../../shared/core/worker.ts'

/** An object that refuses members it does not know, by name, and says which it does. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const legal = Object.keys(shape).join(', ') || 'none'
  return z.strictObject(shape, {
    error: issue => (issue.code === 'unrecognized_keys' ? `is no field here; there are ${legal}` : undefined),
  })
}

export const optional = z.exactOptional

/** Any JSON; what of it cannot be stored exactly is told before any schema sees it. */
export const json = z.unknown().meta({ description: 'Any JSON' }) as unknown as z.ZodType<Json>

export const typeName = z
  .string()
  .regex(new RegExp(TYPE_NAME_PATTERN), `must be 1–${MAX_TYPE_LENGTH} of A–Z a–z 0–9 . _ -`)
  .meta({ description: 'Name of a task type' })

/** Text that names something: no control characters, which no log shows, and no half of a surrogate pair. */
export function name(maxCharacters: number) {
  return z
    .string()
    .refine(
      text => isName(text, maxCharacters),
      `must be 1–${maxCharacters} characters, none of them a control character or half a surrogate pair`,
    )
    .meta({ minLength: 1, maxLength: maxCharacters })
}

/** A name that stands in a path by itself: with a `~` in front it would read as the encoded form of another one. */
export function pathName(maxCharacters: number) {
  return name(maxCharacters).refine(text => !looksEncoded(text), 'must not begin with ~')
}

export const key = name(MAX_KEY_LENGTH).meta({ description: 'Idempotency key, unique within the type' })
export const workerId = name(MAX_KEY_LENGTH).refine(
  isShortWorkerId,
  `must have at most ${WORKER_ID_BYTES_MAX} bytes in UTF-8`,
)
export const userId = name(MAX_KEY_LENGTH)

export function whole(min: number, max: number) {
  return z.int().min(min).max(max)
}

/** Milliseconds, up to ten years. */
export function duration(min = 0, max = MAX_DELAY_MS) {
  return whole(min, max)
}

const ISO_TIME =
  /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

export const time = z
  .string()
  .refine(isTime, 'must be a time as 2026-01-31T12:00:00.000Z')
  .meta({ format: 'date-time' })

/** Dates that no calendar has (February 30th) are none, though `Date` would move them on. */
function isTime(text: string): boolean {
  if (!ISO_TIME.test(text)) return false
  const day = text.slice(0, 10)
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const exists = Number.isFinite(midnight) && new Date(midnight).toISOString().startsWith(day)
  return exists && Date.parse(text) >= 0
}

export const version = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,9}){0,3}$/, 'must be dotted numbers, as 1.4.0')
  .meta({ description: 'Dotted numbers' })

export const tags = z
  .record(name(128), name(256))
  .refine(value => Object.keys(value).length <= 50, 'at most 50 tags')

/** A time, as answers show it. */
export const shownTime = z.string().meta({ format: 'date-time' })

/** Changes by people. */
export const operations = z.array(z.object({ at: shownTime, by: z.string(), what: z.string() }))
