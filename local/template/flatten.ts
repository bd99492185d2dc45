/**
 * Nested stacks. The local cloud boots one template, so the resources of nested templates are put into the template that names
 * them, before anything reads it. Their logical ids get the prefix of their stack. What a nested template takes as a parameter
 * becomes the expression that its parent passes, and what the parent reads as an output becomes the expression behind it. Nested
 * stacks may contain nested stacks: the innermost are put in first.
 */

import { arnOf } from '../account.ts'
import { isRecord, soleEntry, splitOnce, type Template, type TemplateResource } from './intrinsics.ts'

const NESTED_STACK = 'AWS::CloudFormation::Stack'

/** A nested stack, with its template in the words of its parent. */
type Part = ReturnType<typeof partOf>

/**
 * Returns `template` with the resources of its nested stacks. A nested stack whose template `read` does not find, such as one at
 * an address outside of the app, stays as it is.
 */
export function flatten(
  template: Template,
  read: (nested: TemplateResource) => Template | undefined,
): Template {
  const parts: Part[] = []
  const taken = new Set(Object.keys(template.Resources))
  for (const [logicalId, resource] of Object.entries(template.Resources)) {
    const nested = resource.Type === NESTED_STACK ? read(resource) : undefined
    if (!nested) continue
    const part = partOf(logicalId, resource, flatten(nested, read), taken)
    for (const id of Object.keys(part.resources)) taken.add(id)
    parts.push(part)
  }
  return parts.length === 0 ? template : merge(template, parts)
}

function partOf(logicalId: string, resource: TemplateResource, nested: Template, taken: ReadonlySet<string>) {
  const prefix = prefixOf(logicalId, Object.keys(nested.Resources), taken)
  const name = { 'Fn::Join': ['-', [{ Ref: 'AWS::StackName' }, prefix]] }
  const id = { 'Fn::Join': ['', [arnOf('cloudformation', 'stack/'), name, '/local']] }
  const references = inNested(logicalId, prefix, nested, argumentsOf(resource), {
    'AWS::StackName': name,
    'AWS::StackId': id,
  })
  const expressions = (values: Readonly<Record<string, unknown>> = {}) =>
    mapEntries(values, (key, value) => [key, rewrite(value, references)])
  return {
    logicalId,
    /** What `Ref` of the nested stack gives. */
    id,
    resources: mapEntries(nested.Resources, (key, own) => [
      prefix + key,
      embedded(own, resource, prefix, references),
    ]),
    conditions: mapEntries(expressions(nested.Conditions), (key, value) => [
      prefix + key,
      under(resource, value),
    ]),
    mappings: mapEntries(nested.Mappings ?? {}, (key, value) => [prefix + key, value]),
    outputs: expressions(mapEntries(nested.Outputs ?? {}, (key, { Value }) => [key, Value])),
  }
}

/**
 * CDK's logical id of a nested stack repeats itself: `TasksNestedHandlers7NestedStackHandlers7NestedStackResource8733EADC`. The
 * first part is enough, unless another resource has a name that begins like it.
 */
function prefixOf(logicalId: string, ids: readonly string[], taken: ReadonlySet<string>): string {
  const short = /^(.+?)NestedStack.*NestedStackResource[0-9A-F]{8}$/.exec(logicalId)?.[1]
  return short === undefined || ids.some(id => taken.has(short + id)) ? logicalId : short
}

function argumentsOf({ Properties = {} }: TemplateResource): Readonly<Record<string, unknown>> {
  return isRecord(Properties.Parameters) ? Properties.Parameters : {}
}

/** What the names of a nested template mean in its parent. */
function inNested(
  logicalId: string,
  prefix: string,
  { Parameters = {} }: Template,
  given: Readonly<Record<string, unknown>>,
  pseudo: Readonly<Record<string, unknown>>,
): References {
  const parameter = (name: string) => {
    const { Type = '', Default } = Parameters[name] ?? {}
    const value = given[name] ?? Default
    if (value === undefined)
      throw new Error(`The nested stack ${logicalId} gets no value for its parameter ${name}`)
    const isJoined = /^CommaDelimitedList$|^List</.test(Type) && !Array.isArray(value)
    return isJoined ? { 'Fn::Split': [',', value] } : value
  }
  return {
    ref: id => {
      if (id in Parameters) return parameter(id)
      if (id.startsWith('AWS::')) return pseudo[id] ?? { Ref: id }
      return { Ref: prefix + id }
    },
    attribute: (id, name) => ({ 'Fn::GetAtt': [prefix + id, name] }),
    condition: name => prefix + name,
    mapping: name => prefix + name,
  }
}

/** A resource of a nested stack exists only if the stack does, and after all that the stack depends on. */
function embedded(
  own: TemplateResource,
  stack: TemplateResource,
  prefix: string,
  references: References,
): TemplateResource {
  const condition = own.Condition === undefined ? stack.Condition : references.condition(own.Condition)
  const dependencies = [...listOf(own.DependsOn).map(id => prefix + id), ...listOf(stack.DependsOn)]
  return {
    ...own,
    ...(own.Properties && { Properties: rewrite(own.Properties, references) as Record<string, unknown> }),
    ...(condition !== undefined && { Condition: condition }),
    ...(dependencies.length > 0 && { DependsOn: dependencies }),
  }
}

function under({ Condition }: TemplateResource, value: unknown): unknown {
  return Condition === undefined ? value : { 'Fn::And': [{ Condition }, value] }
}

/** Puts the parts into the template, and replaces what the template says about their stacks. */
function merge(template: Template, parts: readonly Part[]): Template {
  const byId = new Map(parts.map(part => [part.logicalId, part]))
  const references: References = {
    ref: id => byId.get(id)?.id ?? { Ref: id },
    attribute: (id, name) => {
      const part = byId.get(id)
      return part ? rewrite(outputOf(part, name), references) : { 'Fn::GetAtt': [id, name] }
    },
    condition: name => name,
    mapping: name => name,
  }
  const resources = Object.assign({}, template.Resources, ...parts.map(part => part.resources))
  const conditions = Object.assign({}, template.Conditions, ...parts.map(part => part.conditions))
  const remaining = Object.entries<TemplateResource>(resources).filter(([id]) => !byId.has(id))
  return {
    ...template,
    Resources: mapEntries(Object.fromEntries(remaining), (id, one) => [
      id,
      withoutStacks(one, byId, references),
    ]),
    Conditions: mapEntries(conditions, (name, value) => [name, rewrite(value, references)]),
    Mappings: Object.assign({}, template.Mappings, ...parts.map(part => part.mappings)),
    Outputs: mapEntries(template.Outputs ?? {}, (key, output) => [
      key,
      { ...output, Value: rewrite(output.Value, references) },
    ]),
  }
}

/** A resource that depends on a nested stack depends on all resources of the stack. */
function withoutStacks(
  resource: TemplateResource,
  parts: ReadonlyMap<string, Part>,
  references: References,
): TemplateResource {
  const idsOf = (id: string) => Object.keys(parts.get(id)?.resources ?? { [id]: id })
  const dependencies = listOf(resource.DependsOn).flatMap(idsOf)
  return {
    ...resource,
    ...(resource.Properties && {
      Properties: rewrite(resource.Properties, references) as Record<string, unknown>,
    }),
    ...(dependencies.length > 0 && { DependsOn: dependencies }),
  }
}

function outputOf({ logicalId, outputs }: Part, attribute: string): unknown {
  const name = attribute.replace(/^Outputs\./, '')
  if (name in outputs) return outputs[name]
  throw new Error(`The nested stack ${logicalId} has no output ${name}`)
}

function listOf(names: string | readonly string[] = []): readonly string[] {
  return typeof names === 'string' ? [names] : names
}

function mapEntries<From, To>(
  entries: Readonly<Record<string, From>>,
  map: (key: string, value: From) => readonly [string, To],
): Record<string, To> {
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => map(key, value)))
}

type References = {
  /** The expression for `Ref` of a resource, a parameter or a pseudo parameter. */
  ref(id: string): unknown
  /** The expression for `Fn::GetAtt`. */
  attribute(id: string, name: string): unknown
  condition(name: string): string
  mapping(name: string): string
}

/** Replaces every name in a template value. All other parts of the value stay as they are. */
function rewrite(value: unknown, references: References): unknown {
  if (Array.isArray(value)) return value.map(entry => rewrite(entry, references))
  if (!isRecord(value)) return value
  const [name, argument] = soleEntry(value)
  const rule = name === undefined ? undefined : rules[name]
  if (rule) return rule(argument, references)
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, rewrite(entry, references)]))
}

const rules: Record<string, (argument: unknown, references: References) => unknown> = {
  Ref: (argument, references) => references.ref(String(argument)),
  Condition: (argument, references) => ({ Condition: references.condition(String(argument)) }),
  'Fn::GetAtt': (argument, references) => {
    const [id, name] = Array.isArray(argument) ? argument : splitOnce(String(argument), '.')
    return references.attribute(String(id), String(name))
  },
  'Fn::If': (argument, references) => {
    const [condition, ...values] = argument as [string, ...unknown[]]
    return { 'Fn::If': [references.condition(condition), ...values.map(value => rewrite(value, references))] }
  },
  'Fn::FindInMap': (argument, references) => {
    const [mapping, ...keys] = argument as unknown[]
    const named = typeof mapping === 'string' ? references.mapping(mapping) : rewrite(mapping, references)
    return { 'Fn::FindInMap': [named, ...keys.map(key => rewrite(key, references))] }
  },
  'Fn::Sub': substitution,
}

/** Keeps the text of an `Fn::Sub`. Each placeholder that is not a variable already becomes one, with the new expression. */
function substitution(argument: unknown, references: References): unknown {
  const [text, own] = (Array.isArray(argument) ? argument : [argument, {}]) as [
    string,
    Record<string, unknown>,
  ]
  const variables = rewrite(own, references) as Record<string, unknown>
  const placeholders = [...text.matchAll(/\$\{([^}!][^}]*)\}/g)].map(([, name]) => String(name))
  const added = placeholders
    .filter(name => !(name in own))
    .map(name => [name, referenceOf(name, references)] as const)
  return { 'Fn::Sub': [text, { ...variables, ...Object.fromEntries(added) }] }
}

function referenceOf(placeholder: string, references: References): unknown {
  const [id, attribute] = splitOnce(placeholder, '.')
  return attribute === '' ? references.ref(id) : references.attribute(id, attribute)
}
