import type { Json as JsonValue } from '../../shared/core/values/values.ts'

/**
 * Forms from JSON Schema. The generator knows what definitions of tasks commonly register: objects, lists, texts, numbers, flags,
 * choices, and values that may be null or left out. Everything else is a field for JSON, so a form can always express the input.
 */

export type { JsonValue }
export type JsonSchema = { readonly [name: string]: unknown }

/** One field of a form. `path` names its members. */
export type Field = {
  readonly title: string
  readonly hint: string | undefined
  readonly isRequired: boolean
  readonly isNullable: boolean
  readonly preset: JsonValue | undefined
} & FieldKind

type FieldKind =
  | { readonly kind: 'object'; readonly members: ReadonlyArray<readonly [name: string, field: Field]> }
  | { readonly kind: 'list'; readonly item: Field }
  | {
      readonly kind: 'text'
      readonly type: 'text' | 'url' | 'email' | 'date'
      readonly isLong: boolean
      readonly limits: TextLimits
    }
  | {
      readonly kind: 'number'
      readonly isWhole: boolean
      /** So much of the value is one of what the field shows. Spans are milliseconds, and are shown in seconds. */
      readonly unit: number
      readonly min: number | undefined
      readonly max: number | undefined
    }
  | { readonly kind: 'flag' }
  | { readonly kind: 'choice'; readonly choices: readonly JsonValue[] }
  /** One of several objects or constants; a reader chooses which. */
  | { readonly kind: 'union'; readonly variants: readonly Field[] }
  | { readonly kind: 'json' }

type TextLimits = {
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  readonly pattern: string | undefined
}

/** Deeper members are fields for JSON. A schema may refer to itself. */
const DEPTH_MAX = 5
const LONG_TEXT_CHARACTERS = 200

/** The form of a schema. Undefined when the schema is not an object with members, so that a form would say nothing. */
export function formOf(schema: JsonSchema | undefined): Field | undefined {
  if (!schema) return undefined
  const field = fieldOf(schema, { root: schema, title: 'Input', isRequired: true, depth: 0 })
  return field.kind === 'json' || (field.kind === 'object' && field.members.length === 0) ? undefined : field
}

type Place = {
  readonly root: JsonSchema
  readonly title: string
  readonly isRequired: boolean
  readonly depth: number
}

function fieldOf(given: unknown, place: Place): Field {
  const { schema, isNullable } = withoutNull(resolved(given, place.root), place.root)
  return {
    title: text(schema.title) ?? place.title,
    hint: text(schema.description),
    isRequired: place.isRequired,
    isNullable,
    preset: schema.default as JsonValue | undefined,
    ...kindOf(schema, place),
  }
}

function kindOf(schema: JsonSchema, place: Place): FieldKind {
  if (place.depth > DEPTH_MAX) return { kind: 'json' }
  if ('const' in schema) return { kind: 'choice', choices: [schema.const as JsonValue] }
  if (Array.isArray(schema.enum)) return { kind: 'choice', choices: schema.enum }
  const constants = constantsOf(schema, place.root)
  if (constants) return { kind: 'choice', choices: constants }
  const variants = unionOf(schema)?.map((one, nth) => fieldOf(one, below(place, `Form ${nth + 1}`)))
  if (variants?.every(({ kind }) => kind === 'object' || kind === 'choice'))
    return { kind: 'union', variants: variants.map(named) }
  switch (schema.type) {
    case 'object':
      return objectKind(schema, place)
    case 'array':
      return typeof schema.items === 'object' && schema.items !== null && !('prefixItems' in schema)
        ? { kind: 'list', item: fieldOf(schema.items, below(place, 'Item')) }
        : { kind: 'json' }
    case 'string':
      return textKind(schema)
    case 'number':
    case 'integer':
      return numberKind(schema)
    case 'boolean':
      return { kind: 'flag' }
    default:
      return { kind: 'json' }
  }
}

function below({ root, depth }: Place, title: string, isRequired = true): Place {
  return { root, title, isRequired, depth: depth + 1 }
}

/** A variant without a title is named by its constant, or by the members that it needs. */
function named(variant: Field): Field {
  if (variant.kind === 'choice') return { ...variant, title: variant.choices.join(', ') }
  if (variant.kind !== 'object' || !/^Form \d+$/.test(variant.title)) return variant
  const names = variant.members.map(([, member]) => {
    const only = member.kind === 'choice' ? member.choices : []
    return only.length === 1 ? String(only[0]) : member.title
  })
  return { ...variant, title: names.slice(0, 3).join(', ') }
}

/** An object whose members have names of their own. One with free names is a field for JSON. */
function objectKind(schema: JsonSchema, place: Place): FieldKind {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, unknown>)
  if (properties.length === 0) return { kind: 'json' }
  const required = Array.isArray(schema.required) ? schema.required : []
  return {
    kind: 'object',
    members: properties.map(
      ([name, member]) => [name, fieldOf(member, below(place, name, required.includes(name)))] as const,
    ),
  }
}

const TEXT_TYPES: Readonly<Record<string, 'url' | 'email' | 'date'>> = {
  uri: 'url',
  email: 'email',
  date: 'date',
}

function textKind({ format, minLength, maxLength, pattern }: JsonSchema): FieldKind {
  const longest = whole(maxLength)
  return {
    kind: 'text',
    type: TEXT_TYPES[String(format)] ?? 'text',
    isLong: longest !== undefined && longest > LONG_TEXT_CHARACTERS && format === undefined,
    limits: { minLength: whole(minLength), maxLength: longest, pattern: patternOf(pattern) },
  }
}

/** Numbers that JSON cannot distinguish from their neighbours bound nothing that a person would enter. */
function numberKind(schema: JsonSchema): FieldKind {
  const { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  const isWhole = type === 'integer'
  const above = finite(exclusiveMinimum)
  const below = finite(exclusiveMaximum)
  return {
    kind: 'number',
    isWhole,
    unit: schema.format === 'milliseconds' ? 1_000 : 1,
    min: finite(minimum) ?? (isWhole && above !== undefined ? above + 1 : above),
    max: finite(maximum) ?? (isWhole && below !== undefined ? below - 1 : below),
  }
}

/** The schema that a reference names, with the other keywords next to the reference. */
function resolved(given: unknown, root: JsonSchema): JsonSchema {
  const schema = (typeof given === 'object' && given !== null ? given : {}) as JsonSchema
  if (typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#')) return schema
  const names = schema.$ref
    .slice(1)
    .split('/')
    .filter(Boolean)
    .map(name => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
  let found: unknown = root
  for (const name of names) found = (found as JsonSchema | undefined)?.[name]
  const { $ref: _ref, ...others } = schema
  return { ...(typeof found === 'object' && found !== null ? found : {}), ...others } as JsonSchema
}

type Nullable = { readonly schema: JsonSchema; readonly isNullable: boolean }

/** A schema that allows null besides one other schema, as that schema. */
function withoutNull(schema: JsonSchema, root: JsonSchema): Nullable {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter(type => type !== 'null')
    if (types.length === 1)
      return { schema: { ...schema, type: types[0] }, isNullable: schema.type.length > 1 }
  }
  const union = unionOf(schema)
  if (!union) return { schema, isNullable: false }
  const rest = union.map(one => resolved(one, root)).filter(one => one.type !== 'null')
  if (rest.length !== 1 || rest.length === union.length) return { schema, isNullable: false }
  const { anyOf: _anyOf, oneOf: _oneOf, ...others } = schema
  return { schema: { ...rest[0], ...others }, isNullable: true }
}

function unionOf({ anyOf, oneOf }: JsonSchema): readonly unknown[] | undefined {
  return Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
}

/** The values of a union of constants. */
function constantsOf(schema: JsonSchema, root: JsonSchema): JsonValue[] | undefined {
  const union = unionOf(schema)?.map(one => resolved(one, root))
  return union?.every(one => 'const' in one) ? union.map(one => one.const as JsonValue) : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

function finite(value: unknown): number | undefined {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined
}

/** The pattern, if browsers take it: they compile patterns of fields more strictly. */
function patternOf(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return undefined
  try {
    new RegExp(pattern, 'v')
    // A field must fit its pattern as a whole; a schema's pattern may fit anywhere.
    return `.*(?:${pattern}).*`
  } catch {
    return undefined
  }
}

/** The value with which a form begins: what the schema presets, and empty objects for members. */
export function firstValue(field: Field): JsonValue | undefined {
  if (field.preset !== undefined) return field.preset
  if (!field.isRequired) return undefined
  switch (field.kind) {
    case 'object': {
      const members = field.members.flatMap(([name, member]) => {
        const value = firstValue(member)
        return value === undefined ? [] : [[name, value] as const]
      })
      return Object.fromEntries(members)
    }
    case 'union':
      return field.variants[0] && firstValue(field.variants[0])
    case 'list':
      return []
    case 'flag':
      return false
    case 'choice':
      return field.choices.length === 1 ? field.choices[0] : undefined
    default:
      return undefined
  }
}

/** The first variant that has the value as a constant, or has all members of the value. */
export function variantOf(variants: readonly Field[], value: JsonValue | undefined): number {
  const names = Object.keys(Object(value))
  const fits = (variant: Field) =>
    variant.kind === 'choice'
      ? variant.choices.some(choice => choice === value)
      : variant.kind === 'object' && names.every(name => variant.members.some(([own]) => own === name))
  return value === undefined ? 0 : Math.max(0, variants.findIndex(fits))
}

/** The value in another variant: what the variant begins with, and the members that both have. */
export function switched(variant: Field, value: JsonValue | undefined): JsonValue | undefined {
  const first = firstValue(variant)
  if (variant.kind !== 'object') return first
  const kept = Object.entries(Object(value)).filter(([name]) => variant.members.some(([own]) => own === name))
  return { ...Object(first), ...Object.fromEntries(kept) }
}

/** What an emptied field stands for: null where the schema allows it and demands a value, else nothing. */
export function emptyOf({ isRequired, isNullable }: Field): JsonValue | undefined {
  return isRequired && isNullable ? null : undefined
}
