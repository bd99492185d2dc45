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
import { concurrencyLimitName } from '../../shared/core/limits/limits.ts'
import { limitPlace, readyPlace } from '../../shared/core/place/place-names.ts'

/**
 * Which partitions of the table and of its index `place` stand for what, as patterns of IAM for `dynamodb:LeadingKeys`. Names
 * of types have neither `:`, `#` nor `=`, so the pattern of one type never takes another one in.
 */

/** Stands for every type. */
export const ANY_TYPE = '*'

/** Heads, inputs, results and run records of tasks. */
export function taskPartitions(types: readonly string[]): string[] {
  return types.map(type => `${type}:*`)
}

/** What is counted of the limits of types, and whose turn it is. */
export function countPartitions(types: readonly string[]): string[] {
  return [
    ...limitNames(types).flatMap(limit => [permitsPartition(limit), slotsPartition(limit)]),
    ...linesOf(types).flatMap(line => [turnsPartition(line), frontPartition(line)]),
  ]
}

/** Whose turn it is: all that a publisher counts. */
export function turnPartitions(types: readonly string[]): string[] {
  return linesOf(types).flatMap(line => [turnsPartition(line), frontPartition(line)])
}

/** Where tasks of types wait to be claimed in order, in the index `place`. */
export function readyPlaces(types: readonly string[]): string[] {
  return types.map(type => readyPlace(type, 0).replace(/0$/, '*'))
}

/** Where tasks of types wait for a permit, in the index `place`. */
export function limitPlaces(types: readonly string[]): string[] {
  return limitNames(types).map(limitPlace)
}

/** Steps of flows; their names follow from what they are. */
export const DEFINITIONS = definitionPartition('*')

/** The registry of workers, and the markers by which workers find tasks that name them: of all workers. */
export const REGISTRY = WORKERS_PARTITION
export const MARKERS = targetPartition('*')
/** Where a worker is in its markers. */
export const MARKER_CURSORS = recordPartition('targets#*')

/** The limit of a type, and those for single values of a field. */
function limitNames(types: readonly string[]): string[] {
  return types.flatMap(type =>
    type === ANY_TYPE ? [ANY_TYPE] : [type, concurrencyLimitName(type, 'any', '*')],
  )
}

/** Lines of tenants: of a type, by priority where it is run by it. */
function linesOf(types: readonly string[]): string[] {
  return types.map(type => `${type}#*`)
}
