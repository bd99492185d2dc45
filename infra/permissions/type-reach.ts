import { BatonError } from '../../shared/core/errors.ts'
import { typeNameRule } from '../../shared/core/rules/type-configuration.ts'
import type { StepConfiguration } from '../../shared/core/types/task-type.ts'
import { ANY_TYPE } from './partitions.ts'

/** A flow of the system: its type, and the types that do and undo its steps. */
type Flow = { readonly type: string; readonly stepTypes: readonly string[] }

export type GrantProps = {
  /** The types that the grant covers. @default all types */
  readonly types?: readonly string[]
}

/** The types that a grant names, or `any` for all. */
export type GrantedTypes = readonly string[] | 'any'

/**
 * The flows of one system. A flow's tasks are stored under the flow's type, whichever type does their present step. They wait in
 * the places of the types that do their steps. The app may add flows in any order, so grants are resolved at synthesis.
 */
export class TypeReach {
  private readonly flows: Flow[] = []

  add(type: string, steps: readonly StepConfiguration[] = []): void {
    const stepTypes = steps.flatMap(step => [step.do.type, ...(step.undo ? [step.undo.type] : [])])
    this.flows.push({ type, stepTypes })
  }

  /** Returns these types and the flows whose steps they do. The tasks that these types serve are stored under all of these. */
  withFlows(types: GrantedTypes): readonly string[] {
    if (types === 'any') return [ANY_TYPE]
    const flows = this.flows.filter(({ stepTypes }) => stepTypes.some(type => types.includes(type)))
    return distinct([...types, ...flows.map(({ type }) => type)])
  }

  /** Returns these types and the types that do the steps of the flows among them. The tasks wait in the places of these types. */
  withSteps(types: readonly string[]): readonly string[] {
    const flows = this.flows.filter(({ type }) => types.includes(type))
    return distinct([...types, ...flows.flatMap(({ stepTypes }) => stepTypes)])
  }
}

/** @throws BatonError `invalid` for an empty list, and for what `typesWithin` refuses. */
export function grantedTypes(types: readonly string[] | undefined): GrantedTypes {
  if (types?.length === 0) throw new BatonError('invalid', "'types' is empty; name at least one type")
  return types === undefined ? 'any' : typesWithin('types', types)
}

/** @throws BatonError `invalid` for an illegal type name, since `*` in a policy would match every type. */
export function typesWithin(option: string, types: readonly string[]): readonly string[] {
  const wrong = types.find(type => typeNameRule.problems(type, '').length > 0)
  if (wrong !== undefined)
    throw new BatonError('invalid', `'${option}' names '${wrong}', which is not a valid type name`)
  return types
}

function distinct(types: readonly string[]): string[] {
  return [...new Set(types)]
}
