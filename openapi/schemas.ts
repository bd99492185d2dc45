import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import type ts from 'typescript-5'
import { COMPONENT, type Rule } from '../shared/core/rules/rules.ts'
import type { Comments, Member } from './comments.ts'

/** A schema of the OpenAPI document: JSON Schema 2020-12. */
export type Schema = { [name: string]: unknown }

export type Schemas = Awaited<ReturnType<typeof openApiSchemas>>

const ROOT = resolve(import.meta.dirname, '..')

/** The modules with the rules, relative to the root of the repository. */
export function schemaFiles(): string[] {
  return globSync('shared/api/{*,*/*}.ts', { cwd: ROOT })
    .filter(file => !file.endsWith('/index.ts'))
    .sort()
}

/** Translates the schemas of `shared/api`. The comments on their members become descriptions. */
export async function openApiSchemas(comments: Comments | undefined) {
  const places = await placesOf(schemaFiles())
  const components: Record<string, Schema> = {}
  const described = new Set<string>()
  const definitions = definitionsOf([...places.keys()])
  /** Replaces each component within a schema by a reference, and adds it to the components. */
  const translatedOf = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(translatedOf)
    if (!isSchema(schema)) return schema
    const { [COMPONENT]: component, ...own } = schema
    if (typeof component !== 'string') {
      return Object.fromEntries(Object.entries(own).map(([name, part]) => [name, translatedOf(part)]))
    }
    if (!components[component]) {
      const { [COMPONENT]: _name, ...definition } = definitions.get(component) ?? {}
      components[component] = {}
      Object.assign(components[component], translatedOf(definition))
    }
    return { $ref: `${REFERENCE}${component}` }
  }
  const schemaOf = (rule: Rule): Schema => {
    const translated = translatedOf(rule.schema) as Schema
    const place = places.get(rule)
    if (!place || !comments) return translated
    const type = comments.typeOf(place.file, place.name)
    describe(translated, type, { comments, components, described, optionsOf: 'nothing' })
    return translated
  }
  return {
    /** The schema of what callers send or get. Rules of components become components, and are referred to. */
    schemaOf,
    /** The components that were translated so far, by their names. */
    components: () => {
      discriminate(components, components)
      return components
    },
  }
}

/** The schemas of the components, which may contain one another. A schema with nothing but the name of its component refers to it. */
function definitionsOf(rules: readonly Rule[]): ReadonlyMap<string, Schema> {
  const definitions = new Map<string, Schema>()
  const collect = (schema: unknown): void => {
    if (!isSchema(schema)) return
    const component = schema[COMPONENT]
    if (typeof component === 'string' && Object.keys(schema).length > 1) definitions.set(component, schema)
    Object.values(schema).forEach(collect)
  }
  for (const { schema } of rules) collect(schema)
  return definitions
}

type Place = { readonly file: string; readonly name: string }

/** The file and the name under which each schema is exported. */
async function placesOf(files: readonly string[]): Promise<ReadonlyMap<Rule, Place>> {
  const places = new Map<Rule, Place>()
  for (const file of files) {
    const module: Record<string, unknown> = await import(resolve(ROOT, file))
    for (const [name, value] of Object.entries(module)) {
      if (isRule(value) && !places.has(value)) places.set(value, { file, name })
    }
  }
  return places
}

function isRule(value: unknown): value is Rule {
  return typeof value === 'object' && value !== null && 'problems' in value && 'schema' in value
}

const REFERENCE = '#/components/schemas/'

type Describing = {
  readonly comments: Comments
  readonly components: Record<string, Schema>
  /** The components that have their descriptions. */
  readonly described: Set<string>
  /** What sets the options of tasks among the members: it decides what holds for an option that is left out. */
  readonly optionsOf: 'task' | 'patch' | 'type' | 'nothing'
}

/** The schemas of requests that set options of tasks. Answers show options in force, which have no defaults. */
const SETS_OPTIONS: Readonly<Record<string, Describing['optionsOf']>> = {
  Publish: 'task',
  Callback: 'task',
  CanvasTask: 'task',
  ScheduledTask: 'task',
  Patch: 'patch',
  TypeConfiguration: 'type',
}

/** Writes the comments on the members of a type into the schema of its values, at every depth. */
function describe(schema: Schema, type: ts.Type, all: Describing): void {
  const { $ref, properties = {}, items, additionalProperties, anyOf, oneOf } = schema as Parts
  if ($ref) describeComponent($ref.slice(REFERENCE.length), type, all)
  for (const [name, member] of Object.entries(properties)) describeMember(member, name, type, all)
  for (const part of [items, additionalProperties].filter(isSchema)) {
    for (const element of all.comments.elementsOf(type)) describe(part, element, all)
  }
  for (const alternative of [...(anyOf ?? []), ...(oneOf ?? [])]) {
    for (const one of all.comments.alternativesWith(type, constantsOf(alternative, all.components)))
      describe(alternative, one, all)
  }
}

/** The members of an alternative that can have one text only: they distinguish it from the others. */
function constantsOf(alternative: Schema, components: Record<string, Schema>): Record<string, unknown> {
  const { $ref } = alternative as Parts
  const { properties = {} } = ($ref ? components[$ref.slice(REFERENCE.length)] : alternative) as Parts
  const members = Object.entries(properties).map(([name, { const: value }]) => [name, value])
  return Object.fromEntries(members.filter(([, value]) => typeof value === 'string'))
}

/** Writes into alternatives which member distinguishes them, if there is one. */
function discriminate(schema: unknown, components: Record<string, Schema>): void {
  if (!isSchema(schema)) return
  const { oneOf } = schema as Parts
  const discriminator = oneOf && discriminatorOf(oneOf, components)
  if (discriminator) schema.discriminator = discriminator
  for (const part of Object.values(schema)) discriminate(part, components)
}

/** The member whose constant distinguishes the alternatives, if there is one. */
function discriminatorOf(
  alternatives: readonly Schema[],
  components: Record<string, Schema>,
): Schema | undefined {
  const references = alternatives.map(({ $ref }) => String($ref))
  const members = references.map(
    reference => (components[reference.slice(REFERENCE.length)]?.properties ?? {}) as Record<string, Schema>,
  )
  const propertyName = Object.keys(members[0] ?? {}).find(name =>
    members.every(one => one[name]?.const !== undefined),
  )
  if (propertyName === undefined) return undefined
  const mapping = references.map((reference, index) => [members[index]?.[propertyName]?.const, reference])
  return { propertyName, mapping: Object.fromEntries(mapping) }
}

type Parts = {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: unknown
  readonly additionalProperties?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null
}

function describeComponent(id: string, type: ts.Type, all: Describing): void {
  const component = all.components[id]
  if (!component || all.described.has(id)) return
  all.described.add(id)
  const description = all.comments.schema(id)
  if (description !== undefined) component.description = description
  describe(component, type, { ...all, optionsOf: SETS_OPTIONS[id] ?? 'nothing' })
}

function describeMember(member: Schema, name: string, type: ts.Type, all: Describing): void {
  const documented = all.comments.memberOf(type, name)
  if (!documented) return
  const { comment } = documented
  const whenLeftOut = defaultOf(documented, all.optionsOf)
  const ending = whenLeftOut === undefined ? '' : ` Default: ${whenLeftOut}.`
  if (comment !== undefined) member.description = `${comment}${ending}`
  // The actions of a flow's step are of other types, whose options hold for them.
  const isAction = all.optionsOf === 'type' && ['do', 'undo'].includes(name)
  describe(member, documented.type, isAction ? { ...all, optionsOf: 'task' } : all)
}

/**
 * What holds when a member is left out, in words. The document has no keyword `default`: what a type configures would be overridden by
 * clients that send the defaults of the document, and generators make a field with a default required.
 */
function defaultOf(
  { default: words, isOption }: Member,
  optionsOf: Describing['optionsOf'],
): string | undefined {
  if (!isOption || words === undefined) return words
  switch (optionsOf) {
    case 'task':
      return `the value of the type, else ${words}`
    case 'patch':
      return 'the present value'
    case 'type':
      return words
    case 'nothing':
      return undefined
  }
}
