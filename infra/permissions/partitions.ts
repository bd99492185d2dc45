import {
  definitionPartition,
  frontPartition,
  permitsPartition,
  recordPartition,
  slotsPartition,
  targetPartition,
  turnsPartition,
  WORKERS_PARTITION,
} from '../../shared/aws/dynamo/keys.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { limitName } from '../../shared/core/limits/limits.ts'
import { ownerPartition, readyPlace, runningPlace } from '../../shared/core/place/place-names.ts'
import { MARKER_CURSOR_PATTERN } from '../../shared/core/record-names.ts'
import { typeNameRule } from '../../shared/core/rules/type-configuration.ts'
import type { StepConfiguration } from '../../shared/core/types/task-type.ts'

/**
 * The partitions of the table and of its index `place`, as IAM patterns for `dynamodb:LeadingKeys`. Names of types contain
 * neither `:`, `#` nor `=`, so the pattern of one type never matches another type.
 */

/** The pattern for every type. */
const ANY_TYPE = '*'

/** Heads, inputs, results and run records of tasks. */
export function taskPartitions(types: readonly string[]): string[] {
  return types.map(type => `${type}:*`)
}

/** The slots and lines of the types' rate limits. */
export function slotPartitions(types: readonly string[]): string[] {
  return types
    .flatMap(type => (type === ANY_TYPE ? [ANY_TYPE] : [type, keyedLimits(type)]))
    .map(slotsPartition)
}

/** The permits of the types' concurrency limits, one list for each type. One request reads several shards of a limit. */
export function permitPartitions(types: readonly string[]): string[][] {
  return types.map(type =>
    type === ANY_TYPE
      ? [permitsPartition(ANY_TYPE)]
      : [
          permitsPartition(type),
          permitsPartition(keyedLimits(type)),
          permitsPartition(type, 1).replace(/1$/, '*'),
        ],
  )
}

/** The turns of tenants. A publisher writes no other counts. */
export function turnPartitions(types: readonly string[]): string[] {
  return linesOf(types).flatMap(line => [turnsPartition(line), frontPartition(line)])
}

/** The places in which tasks of these types wait to be claimed in order. */
export function readyPlaces(types: readonly string[]): string[] {
  return types.map(type => readyPlace(type, 0).replace(/0$/, '*'))
}

/** The places in which the running tasks of these types are. */
export function runningPlaces(types: readonly string[]): string[] {
  return types.map(type => runningPlace(type, 0).replace(/0$/, '*'))
}

/** The partitions of the index `view`, from which tasks of these types are listed. */
export function viewsOf(types: readonly string[]): string[] {
  return types.map(type => `${type}#*`)
}

/** The partitions of the index `owner`. They are named by users, not by types. */
export const OWNERS = ownerPartition('*')
/** The slots and lines of all limits. They hold numbers of starts and hashes, and no data of tasks. */
export const ALL_SLOTS = slotsPartition('*')

/** The stored steps of flows. A partition is named by a hash of its steps, not by a type. */
export const DEFINITIONS = definitionPartition('*')

/** The registry of all workers. */
export const REGISTRY = WORKERS_PARTITION
/** The markers by which workers find the tasks that name them. */
export const MARKERS = targetPartition('*')
/** The position of a worker in its markers. */
export const MARKER_CURSORS = recordPartition(MARKER_CURSOR_PATTERN)

/** The names of a type's limits per value of a field. */
function keyedLimits(type: string): string {
  return limitName(type, 'any', '*')
}

/** Returns one pattern for the lines of each type. A type has one line, or one per priority if it is ordered by priority. */
function linesOf(types: readonly string[]): string[] {
  return types.map(type => `${type}#*`)
}

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
