import {
  FAIR_ATTRIBUTE,
  PRIMARY_KEY,
  TYPES_PARTITION,
  VERSION_ATTRIBUTE,
} from '../../shared/aws/dynamo/keys.ts'
import {
  ALL_SLOTS,
  DEFINITIONS,
  type GrantedTypes,
  MARKER_CURSORS,
  MARKERS,
  OWNERS,
  permitPartitions,
  REGISTRY,
  readyPlaces,
  runningPlaces,
  slotPartitions,
  type TypeReach,
  taskPartitions,
  turnPartitions,
  viewsOf,
} from './partitions.ts'
import { allow, type Grantee, type KeyPatterns } from './permissions.ts'
import type { RolePolicies } from './role-policies.ts'

/**
 * Grants users' code access to the table, limited by the leading keys of partitions. A worker reaches the types that it serves,
 * a publisher those that it publishes and reads. Neither may write the configuration of a type, a canvas or a schedule, and neither may
 * delete a task: the system deletes what a task leaves behind.
 */

type IndexName = 'place' | 'view' | 'owner'

/** The table of a system, and the types that code of other types reaches in it. */
type Reachable = {
  readonly table: { readonly table: { readonly tableArn: string }; indexArn(index: IndexName): string }
  readonly reach: TypeReach
  readonly policies: RolePolicies
}

export type Serving = {
  readonly types: GrantedTypes
  /** Other types whose tasks its handlers publish or whose results they read. */
  readonly others: GrantedTypes
  /** Whether the worker announces itself in the registry, so that tasks may name it in `workerIds`. */
  readonly isRegistered: boolean
}

/** Allows a worker to claim, run and finish tasks of its types, and to publish tasks of `others`. */
export function grantTableToWorker(grantee: Grantee, parts: Reachable, serving: Serving): void {
  const { types, others } = serving
  const isAny = types === 'any' || others === 'any'
  const taskTypes = () =>
    isAny ? parts.reach.withFlows('any') : [...parts.reach.withFlows(types), ...others]
  const placeTypes = () => parts.reach.withSteps(taskTypes())
  onPartitions(grantee, parts, ['BatchGetItem'], () => [taskPartitions(taskTypes())])
  onPartitions(grantee, parts, ['GetItem', 'PutItem', 'UpdateItem'], () => [
    ...taskPartitions(taskTypes()),
    ...slotPartitions(placeTypes()),
    ...turnPartitions(placeTypes()),
  ])
  onPartitions(grantee, parts, ['BatchGetItem', 'UpdateItem'], () => permitPartitions(placeTypes()))
  // A worker reads a canvas's tree for the results that the canvas hands on.
  onPartitions(grantee, parts, ['GetItem'], () => taskPartitions(['canvas']))
  onIndexes(grantee, parts, ['place'], () => readyPlaces(placeTypes()))
  openTypes(grantee, parts)
  if (isAny) denyCanvasWrites(grantee, parts)
  if (serving.isRegistered) openRegistry(grantee, parts)
}

/**
 * Allows a publisher to write new tasks of these types, to update or restart existing ones, and to read and list tasks of these types.
 * A publisher of all types may also list tasks by their user or canvas, which names no type.
 */
export function grantTableToPublisher(grantee: Grantee, parts: Reachable, types: GrantedTypes): void {
  const taskTypes = () => (types === 'any' ? parts.reach.withFlows('any') : types)
  const placeTypes = () => parts.reach.withSteps(taskTypes())
  onPartitions(grantee, parts, ['BatchGetItem'], () => [taskPartitions(taskTypes())])
  onPartitions(grantee, parts, ['GetItem', 'Query', 'PutItem', 'UpdateItem'], () => [
    ...taskPartitions(taskTypes()),
    ...turnPartitions(placeTypes()),
  ])
  // Why a task waits follows from slots, permits and workers. A task shows what a canvas hands on to it.
  onPartitions(grantee, parts, ['GetItem'], () => [ALL_SLOTS, ...taskPartitions(['canvas'])])
  onPartitions(grantee, parts, ['BatchGetItem'], () => permitPartitions(placeTypes()))
  onPartitions(grantee, parts, ['Query'], () => [REGISTRY])
  onIndexes(grantee, parts, ['place', 'view'], () => [
    ...readyPlaces(placeTypes()),
    ...runningPlaces(taskTypes()),
    ...viewsOf(taskTypes()),
  ])
  openTypes(grantee, parts)
  if (types !== 'any') return
  onIndexes(grantee, parts, ['owner'], () => [OWNERS])
  denyCanvasWrites(grantee, parts)
}

/** Allows code to read types, to record that a type has tenants, and to store the steps of flows. */
function openTypes(grantee: Grantee, parts: Reachable): void {
  onPartitions(grantee, parts, ['GetItem', 'Query'], () => [TYPES_PARTITION])
  const { tableArn } = parts.table.table
  allow(grantee, {
    actions: ['dynamodb:UpdateItem'],
    resources: [tableArn],
    conditions: {
      'ForAllValues:StringEquals': {
        'dynamodb:LeadingKeys': [TYPES_PARTITION],
        'dynamodb:Attributes': [PRIMARY_KEY.partition, PRIMARY_KEY.sort, VERSION_ATTRIBUTE, FAIR_ATTRIBUTE],
      },
    },
  })
  onPartitions(grantee, parts, ['GetItem', 'PutItem'], () => [DEFINITIONS])
}

function openRegistry(grantee: Grantee, parts: Reachable): void {
  onPartitions(grantee, parts, ['GetItem', 'PutItem', 'DeleteItem'], () => [REGISTRY])
  onPartitions(grantee, parts, ['Query', 'BatchGetItem', 'DeleteItem'], () => [MARKERS])
  onPartitions(grantee, parts, ['GetItem', 'PutItem'], () => [MARKER_CURSORS])
}

/** Denies writes to canvases and schedules, which the pattern for all types would allow. */
function denyCanvasWrites(grantee: Grantee, parts: Reachable): void {
  allow(grantee, {
    isDenied: true,
    actions: ['PutItem', 'UpdateItem'].map(action => `dynamodb:${action}`),
    resources: [parts.table.table.tableArn],
    conditions: {
      'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': taskPartitions(['canvas', 'schedule']) },
    },
  })
}

function onPartitions(
  grantee: Grantee,
  { table: { table }, policies }: Reachable,
  actions: readonly string[],
  partitions: () => KeyPatterns,
): void {
  policies.add(grantee, () => ({
    actions: actions.map(action => `dynamodb:${action}`),
    resources: [table.tableArn],
    keys: partitions(),
  }))
}

function onIndexes(
  grantee: Grantee,
  { table, policies }: Reachable,
  indexes: readonly IndexName[],
  partitions: () => readonly string[],
): void {
  policies.add(grantee, () => ({
    actions: ['dynamodb:Query'],
    resources: indexes.map(name => table.indexArn(name)),
    keys: partitions(),
  }))
}
