import type { TypeConfiguration } from '../../shared/core/types/task-type.ts'

/** A Standard Schema. Libraries such as zod, from 4.2 on, give the JSON Schema of a schema by `jsonSchema`. */
export type InputSchema = {
  readonly '~standard'?: {
    readonly vendor?: string
    readonly validate?: (value: unknown) => { readonly issues?: unknown } | Promise<unknown>
    readonly jsonSchema?: { input(options: object): unknown }
  }
}

const TARGET = 'draft-2020-12'
/** The template, which may have 1 MB, holds these schemas and the schemas of up to a hundred other types. */
const REGISTERED_BYTES_MAX = 4_096

type JsonSchema = Record<string, unknown>

/**
 * The configuration with the JSON Schema of the input, which the API checks on arrival and of which the dashboard makes its form. It is
 * left out when the library gives none, when JSON Schema cannot express the input, and when it is too large: the schema is a convenience,
 * and never stops a deployment.
 */
export function withInputSchema(
  config: TypeConfiguration,
  input: InputSchema | undefined,
): TypeConfiguration {
  if (config.inputSchema) return config
  try {
    const schema = jsonSchemaOf(input)
    const isShort = schema && Buffer.byteLength(JSON.stringify(schema)) <= REGISTERED_BYTES_MAX
    return isShort
      ? { ...config, inputSchema: schema as NonNullable<TypeConfiguration['inputSchema']> }
      : config
  } catch {
    return config
  }
}

/** The JSON Schema of what the input accepts. It is wider than the input where JSON Schema cannot express it, and never narrower. */
function jsonSchemaOf(input: InputSchema | undefined): JsonSchema | undefined {
  const { vendor = '', jsonSchema } = input?.['~standard'] ?? {}
  // An input that may be a symbol may be everything.
  if (!jsonSchema || accepts(input, Symbol('no JSON'))) return undefined
  const schema = jsonSchema.input({ target: TARGET, libraryOptions: LIBRARY_OPTIONS[vendor] })
  // What JSON cannot hold, such as functions that a library attaches, is dropped. The flags of a pattern are lost; zod's are known below.
  const withoutPatterns = (name: string, value: unknown) =>
    name === 'pattern' && typeof value === 'string' && vendor !== 'zod' ? undefined : value
  const { $schema: _dialect, ...plain } = JSON.parse(JSON.stringify(schema), withoutPatterns) as JsonSchema
  if (accepts(input, undefined)) delete plain.required
  return plain
}

const LIBRARY_OPTIONS: Readonly<Record<string, object>> = {
  zod: { unrepresentable: 'any', override: loosenZod },
  valibot: {
    // A tuple of valibot takes fewer items when the last ones may be undefined.
    overrideSchema: ({ valibotSchema, jsonSchema: { minItems, ...rest } }: ValibotNode) =>
      hasFallback(valibotSchema) ? {} : rest,
  },
}

type ValibotNode = { readonly valibotSchema: unknown; readonly jsonSchema: JsonSchema }

/** Whether the schema accepts the value. True also when this is not known before it is awaited. */
function accepts(schema: InputSchema | undefined, value: unknown): boolean {
  try {
    const parsed = schema?.['~standard']?.validate?.(value)
    if (!(parsed instanceof Promise)) return !parsed?.issues
    parsed.catch(() => undefined)
  } catch {}
  return true
}

/** Whether a part of a valibot schema replaces what does not fit. Its JSON Schema says nothing of it. */
function hasFallback(part: unknown, seen = new Set<unknown>()): boolean {
  if (typeof part !== 'object' || part === null || seen.has(part)) return false
  seen.add(part)
  if ('fallback' in part) return true
  const { getter } = part as { readonly getter?: (input: undefined) => unknown }
  if (getter && !seen.has(getter) && hasFallback(seen.add(getter) && getter(undefined), seen)) return true
  return Object.values(part).some(member => hasFallback(member, seen))
}

/** What of a schema of zod decides whether its JSON Schema is too narrow. */
type ZodDef = {
  readonly type?: string
  readonly check?: string
  readonly format?: string
  readonly coerce?: boolean
  readonly pattern?: RegExp
  readonly checks?: readonly ZodNode[]
  readonly in?: ZodNode
  readonly shape?: Readonly<Record<string, InputSchema>>
  readonly valueType?: InputSchema
}
type ZodOverride = { readonly zodSchema: ZodNode; readonly jsonSchema: JsonSchema }
type ZodNode = { readonly _zod: { readonly def: ZodDef; readonly traits?: ReadonlySet<string> } }

/** Keywords that compare a value after it may have been changed, for example by `trim()`. */
const LIMITS = [
  ...['minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['multipleOf', 'minItems', 'maxItems', 'allOf'],
]

/** Removes from the JSON Schema of one schema of zod what the schema does not demand of its input. */
function loosenZod({ zodSchema, jsonSchema }: ZodOverride) {
  const { def } = zodSchema._zod
  const drop = (names: readonly string[]) => names.forEach(name => void delete jsonSchema[name])
  const isPreprocessed = def.type === 'pipe' && def.in?._zod.def.type === 'transform'
  if (def.coerce || isPreprocessed || def.type === 'catch' || def.type === 'success')
    drop(Object.keys(jsonSchema))
  const checks = [zodSchema, ...(def.checks ?? [])]
  if (checks.some(changesValue)) {
    drop(LIMITS)
    if (jsonSchema.type === 'integer') jsonSchema.type = 'number'
  }
  if (checks.some(check => /[imsv]/.test(check._zod.def.pattern?.flags ?? ''))) drop(['pattern', 'allOf'])
  const { required } = jsonSchema
  if (!Array.isArray(required)) return
  const memberOf = (name: string) => (def.type === 'record' ? def.valueType : def.shape?.[name])
  jsonSchema.required = required.filter(name => !accepts(memberOf(name), undefined))
}

/** A check that changes the value: `trim()`, `z.url()`, or a function of the user that is not a mere condition. */
function changesValue({ _zod: { def, traits } }: ZodNode): boolean {
  const isFree = def.check === 'custom' && !traits?.has('$ZodCustom')
  return def.check === 'overwrite' || def.format === 'url' || isFree
}
