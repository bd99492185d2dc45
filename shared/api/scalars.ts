import * as z from 'zod'
import { KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import type { Json } from '../core/json.ts'
import { tagsRule, unknownFieldMessages } from '../core/rules/compound.ts'
import { versionRule, workerIdRule } from '../core/rules/options.ts'
import type { Rule } from '../core/rules/rules.ts'
import * as rules from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import type { TypeOf } from './type-of.ts'

/** Makes a schema of a rule of the core. Refusals use the words of the rule, and the OpenAPI document shows its JSON Schema. */
export function fromRule<Value>(rule: Rule<Value>): z.ZodType<Value> {
  return z
    .unknown()
    .superRefine((value, context) => {
      for (const { path, message } of rule.problems(value, '')) {
        context.addIssue({ code: 'custom', message, path: path === '' ? [] : path.split('.') })
      }
    })
    .meta({ ...rule.schema }) as unknown as z.ZodType<Value>
}

type OptionalFields<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends Rule<infer Value>
    ? z.ZodExactOptional<z.ZodType<Value>>
    : never
}

/** Makes the schemas of fields that may be left out. */
export function optionalFields<Rules extends Readonly<Record<string, Rule>>>(
  rules: Rules,
): OptionalFields<Rules> {
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, z.exactOptional(fromRule(rule))]),
  ) as unknown as OptionalFields<Rules>
}

/** Makes the schema of an object without unknown members. Its message has one line for each unknown member. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const legal = Object.keys(shape)
  return z.strictObject(shape, {
    error: issue =>
      issue.code === 'unrecognized_keys' ? unknownFieldMessages(issue.keys, legal).join('\n') : undefined,
  })
}

export const optional = z.exactOptional

/** Any JSON. Values that cannot be stored exactly are refused before any schema sees them. */
export const json = z.unknown() as unknown as z.ZodType<Json>

export const typeName = fromRule(typeNameRule)

/** Text that names something. It has no control character, which logs do not show, and no half of a surrogate pair. */
export function name(maxCharacters: number) {
  return fromRule(rules.name(maxCharacters))
}

/** A name that is a whole segment of a path. With a `~` in front it would look like the encoded form of another name. */
export function pathName(maxCharacters: number) {
  return fromRule(rules.pathName(maxCharacters))
}

export const key = name(KEY_CHARACTERS_MAX)
export const workerId = fromRule(workerIdRule)
export const userId = name(KEY_CHARACTERS_MAX)

export function whole(min: number, max: number) {
  return fromRule(rules.whole(min, max))
}

/** Milliseconds, up to ten years. */
export function duration(min?: number, max?: number) {
  return fromRule(rules.duration(min, max))
}

export const time = fromRule(rules.time)

export const version = fromRule(versionRule)

export const tags = fromRule(tagsRule)

/** A time, as answers show it. */
export const shownTime = z.string().meta({ format: 'date-time' })

/** A whole number in an answer, such as a count or a number of milliseconds. */
export const count = z.int().min(0)

const operation = z.object({
  /** When the caller made the change. */
  at: shownTime,
  /** The caller: an IAM principal, the subject of a token, the local user as `local:NAME`, or `anonymous`. */
  by: z.string(),
  /** The change, such as `cancel`. */
  what: z.string(),
})

/**
 * A change that a caller made over the HTTP API. `by` is an IAM principal, the subject of a token, or the local user as
 * `local:NAME`.
 */
export type ApiOperation = TypeOf<typeof operation>

export const operations = z.array(operation)

/** How often people have changed it; 0 when there was no change. Work of the machinery does not count. */
export const revision = z.int().min(0)

/** The revision that the change is meant for. Another present one refuses the request with 409; any one fits when left out. */
export const ifRevision = fromRule(rules.revisionRule)

/** The body, or the query, of requests that take only the expected revision. */
export const expectedRevision = strict({
  /**
   * The revision that the change is meant for. Another present one refuses the request with 409. @default any
   */
  ifRevision: optional(ifRevision),
})

export type ExpectedRevision = TypeOf<typeof expectedRevision>

/** The body of requests that take no fields. */
export const emptyBody = strict({})

export const limit = whole(1, 100)
export const cursor = z.string().max(2_048)

/** The query of a list without filters. */
export const pageQuery = strict({
  /** The number of items on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
})

export type PageQuery = TypeOf<typeof pageQuery>

/** One page of a list, as answers show it. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    /** The items of this page. */
    items: z.array(item),
    /** The `cursor` of the next page. Left out on the last one. */
    nextCursor: optional(z.string()),
  })
}

/** One page of a list. `nextCursor` asks for the next page, and is left out on the last one. */
export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor?: string }
