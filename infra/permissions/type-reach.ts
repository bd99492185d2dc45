import { BatonError } from '../../shared/core/errors.ts'
import { typeNameRule } from '../../shared/core/rules/type-configuration.ts'
import type { StepConfiguration } from '../../shared/core/types/task-type.ts'
import { GRANTED_TYPES_MAX } from '../bounds.ts'
import { ANY_TYPE } from './partitions.ts'

/** A flow as it was added to a system: its type, and the types that do and undo its steps. */
type Flow = { readonly type: string; readonly does: readonly string[] }

export type GrantProps = {
  /** The types that it is for. @default all */
  readonly types?: readonly string[]
}

/** Types that are named, or all of them. */
export type GrantedTypes = readonly string[] | 'any'

/**
 * The flows of one system. The tasks of a flow stand under its own type, whatever type does their present step, and wait in the
 * lines of the types that do their steps. The app may add flows in any order, so this is asked when the template is written.
 */
export class TypeReach {
  private readonly flows: Flow[] = []

  add(type: string, steps: readonly StepConfiguration[] = []): void {
    const does = steps.flatMap(step => [step.do.type, ...(step.undo ? [step.undo.type] : [])])
    this.flows.push({ type, does })
  }

  /** With the flows that the types do steps of: as which tasks their work stands in the table. */
  withFlows(types: GrantedTypes): readonly string[] {
    if (types === 'any') return [ANY_TYPE]
    const flows = this.flows.filter(({ does }) => does.some(type => types.includes(type)))
    return distinct([...types, ...flows.map(({ type }) => type)])
  }

  /** With the types that do the steps of those that are flows: in whose lines their tasks wait. */
  withSteps(types: readonly string[]): readonly string[] {
    const flows = this.flows.filter(({ type }) => types.includes(type))
    return distinct([...types, ...flows.flatMap(({ does }) => does)])
  }
}

/** @throws BatonError `invalid` for an empty list, as `typesWithin`. */
export function grantedTypes(types: readonly string[] | undefined): GrantedTypes {
  if (types?.length === 0) throw new BatonError('invalid', "'types' is empty; name at least one type")
  return types === undefined ? 'any' : typesWithin('types', types)
}

/**
 * @throws BatonError `invalid` for a name that is none of a type, since a policy would take `*` for every one, and for more types
 * than a policy has room for.
 */
export function typesWithin(option: string, types: readonly string[]): readonly string[] {
  const wrong = types.find(type => typeNameRule.problems(type, '').length > 0)
  if (wrong !== undefined)
    throw new BatonError('invalid', `'${option}' names '${wrong}', which is not a valid type name`)
  if (types.length <= GRANTED_TYPES_MAX) return types
  const found = `'${option}' names ${types.length} types, and ${GRANTED_TYPES_MAX} fit a policy`
  throw new BatonError('invalid', `${found}; divide them among several roles`)
}

function distinct(types: readonly string[]): string[] {
  return [...new Set(types)]
}
