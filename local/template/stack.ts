import { ACCOUNT_ID, arnOf, REGION } from '../account.ts'
import { noValue, resolveIntrinsics, type Scope, type Template, type TemplateResource } from './intrinsics.ts'
import { type Described, emulationOf, type Surroundings } from './resource-types.ts'
import type { Assembly } from './template.ts'

/** One stack. Values are resolved at their first use, because some exist only after a part has started, e.g. a stream's ARN. */
export type Stack = {
  readonly name: string
  readonly id: string
  /** Logical ids of the resources with a true condition, in the template's order. */
  ids(type?: string | ((type: string) => boolean)): string[]
  resource(logicalId: string): TemplateResource
  /** Reads one top-level property with its intrinsics resolved. */
  read(logicalId: string, property: string): unknown
  properties(logicalId: string): Record<string, unknown>
  describe(logicalId: string): Described
  /** Adds values that are known only at run time. */
  learn(logicalId: string, found: { physicalId?: string; attributes?: Record<string, unknown> }): void
  outputs(): Record<string, unknown>
  byArn(arn: string): string | undefined
}

export function openStack(assembly: Assembly, name: string, surroundings: Surroundings): Stack {
  const { template } = assembly
  const id = arnOf('cloudformation', `stack/${name}/local`)
  const described = new Map<string, Described>()
  const scope = scopeOf(template, pseudoParameters(name, id), describe)

  function resource(logicalId: string) {
    const found = template.Resources[logicalId]
    if (found) return found
    throw new Error(`The template refers to ${logicalId}, which it does not define`)
  }

  const read = (logicalId: string, property: string) =>
    resolveIntrinsics(resource(logicalId).Properties?.[property], scope)

  function describe(logicalId: string): Described {
    const known = described.get(logicalId)
    if (known) return known
    const fresh = emulationOf(resource(logicalId).Type).describe({
      logicalId,
      stackName: name,
      surroundings,
      read: property => read(logicalId, property),
    })
    described.set(logicalId, fresh)
    return fresh
  }

  function ids(wanted?: string | ((type: string) => boolean)) {
    const exists = ({ Condition }: TemplateResource) => Condition === undefined || scope.condition(Condition)
    return Object.entries(template.Resources)
      .filter(([, entry]) => exists(entry) && matches(entry.Type, wanted))
      .map(([logicalId]) => logicalId)
  }

  return {
    name,
    id,
    ids,
    resource,
    read,
    properties: logicalId =>
      resolveIntrinsics(resource(logicalId).Properties ?? {}, scope) as Record<string, unknown>,
    describe,
    learn: (logicalId, { physicalId, attributes }) => {
      const before = describe(logicalId)
      described.set(logicalId, {
        ...before,
        physicalId: physicalId ?? before.physicalId,
        attributes: { ...before.attributes, ...attributes },
      })
    },
    outputs: () => {
      const outputs = Object.entries(template.Outputs ?? {})
      return Object.fromEntries(outputs.map(([key, { Value }]) => [key, resolveIntrinsics(Value, scope)]))
    },
    byArn: arn => ids().find(logicalId => describe(logicalId).arn === arn),
  }
}

function matches(type: string, wanted: string | ((type: string) => boolean) | undefined) {
  if (wanted === undefined) return true
  return typeof wanted === 'string' ? type === wanted : wanted(type)
}

const pseudoParameters = (stackName: string, stackId: string): Record<string, unknown> => ({
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT_ID,
  'AWS::Partition': 'aws',
  'AWS::StackName': stackName,
  'AWS::StackId': stackId,
  'AWS::URLSuffix': 'amazonaws.com',
  'AWS::NoValue': noValue,
})

function scopeOf(
  template: Template,
  pseudo: Record<string, unknown>,
  describe: (logicalId: string) => Described,
): Scope {
  const scope: Scope = {
    ref: logicalId => {
      if (logicalId in pseudo) return pseudo[logicalId]
      const parameter = template.Parameters?.[logicalId]
      return parameter ? parameter.Default : describe(logicalId).physicalId
    },
    attribute: (logicalId, attribute) => {
      const found = describe(logicalId).attributes[attribute]
      if (found !== undefined) return found
      // The resource is reported as not supported. A function that only names it can run all the same.
      const isUnsupported = emulationOf(template.Resources[logicalId]?.Type ?? '').kind === 'unsupported'
      if (isUnsupported && template.Resources[logicalId]) return `unsupported-${logicalId}-${attribute}`
      throw new Error(
        `${logicalId} (${template.Resources[logicalId]?.Type}) has no attribute ${attribute} locally`,
      )
    },
    condition: condition => resolveIntrinsics(template.Conditions?.[condition], scope) === true,
    mapping: (map, top, second) => template.Mappings?.[map]?.[top]?.[second],
  }
  return scope
}
