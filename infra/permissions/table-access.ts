import { Lazy } from 'aws-cdk-lib'
import {
  FAIR_ATTRIBUTE,
  PRIMARY_KEY,
  TYPES_PARTITION,
  VERSION_ATTRIBUTE,
} from '../../shared/aws/dynamo/keys.ts'
import type { Parts } from '../parts.ts'
import {
  countPartitions,
  DEFINITIONS,
  limitPlaces,
  MARKER_CURSORS,
  MARKERS,
  REGISTRY,
  readyPlaces,
  taskPartitions,
  turnPartitions,
} from './partitions.ts'
import { allow, type Conditions, type Grantee } from './permissions.ts'
import type { GrantedTypes } from './type-reach.ts'

/**
 * What code of users may do in the table, by the leading keys of partitions: workers with the types that they serve, publishers
 * with those that they publish. Nothing of it may write the configuration of a type, a canvas or a schedule, and none may delete a
 * task: what a task's end or its removal leaves is deleted by the system.
 */

export type Serving = {
  readonly types: GrantedTypes
  /** Types that its handlers publish besides, or read results of. */
  readonly others: GrantedTypes
  /** Whether it is a process that announces itself, and that tasks may name. */
  readonly isRegistered: boolean
}

/** Lets `runner` claim, run and finish tasks of its types, and publish those of `others`. */
export function grantTableToWorker(runner: Grantee, parts: Parts, serving: Serving): void {
  const { types, others } = serving
  const isAny = types === 'any' || others === 'any'
  const tasks = () => (isAny ? parts.reach.withFlows('any') : [...parts.reach.withFlows(types), ...others])
  const lines = () => parts.reach.withSteps(tasks())
  const own = () => parts.reach.withSteps(parts.reach.withFlows(isAny ? 'any' : types))
  onPartitions(runner, parts, ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'], () => [
    ...taskPartitions(tasks()),
    ...countPartitions(lines()),
  ])
  // The values that a canvas hands on are put together from its tree.
  onPartitions(runner, parts, ['GetItem'], () => taskPartitions(['canvas']))
  onPlaces(runner, parts, () => [...readyPlaces(lines()), ...limitPlaces(own())])
  openTypes(runner, parts)
  if (isAny) keepOutOfCanvases(runner, parts)
  if (serving.isRegistered) openRegistry(runner, parts)
}

/** Lets `runner` write new tasks of these types, or update and restart those whose keys are taken. */
export function grantTableToPublisher(runner: Grantee, parts: Parts, types: GrantedTypes): void {
  const named = () => (types === 'any' ? parts.reach.withFlows('any') : types)
  const lines = () => parts.reach.withSteps(named())
  onPartitions(runner, parts, ['GetItem', 'PutItem', 'UpdateItem'], () => [
    ...taskPartitions(named()),
    ...turnPartitions(lines()),
  ])
  onPlaces(runner, parts, () => readyPlaces(lines()))
  openTypes(runner, parts)
  if (types === 'any') keepOutOfCanvases(runner, parts)
}

/** Reads types, notes that one has tenants, and keeps the steps of flows, whose name follows from what they are. */
function openTypes(runner: Grantee, parts: Parts): void {
  onPartitions(runner, parts, ['GetItem', 'Query'], () => [TYPES_PARTITION])
  const { tableArn } = parts.table.table
  allow(runner, {
    actions: ['dynamodb:UpdateItem'],
    resources: [tableArn],
    conditions: {
      'ForAllValues:StringEquals': {
        'dynamodb:LeadingKeys': [TYPES_PARTITION],
        'dynamodb:Attributes': [PRIMARY_KEY.partition, PRIMARY_KEY.sort, VERSION_ATTRIBUTE, FAIR_ATTRIBUTE],
      },
    },
  })
  onPartitions(runner, parts, ['GetItem', 'PutItem'], () => [DEFINITIONS])
}

function openRegistry(runner: Grantee, parts: Parts): void {
  onPartitions(runner, parts, ['GetItem', 'PutItem', 'DeleteItem'], () => [REGISTRY])
  onPartitions(runner, parts, ['Query', 'BatchGetItem', 'DeleteItem'], () => [MARKERS])
  onPartitions(runner, parts, ['GetItem', 'PutItem'], () => [MARKER_CURSORS])
}

/** The pattern of the tasks of every type takes canvases and schedules in. */
function keepOutOfCanvases(runner: Grantee, parts: Parts): void {
  allow(runner, {
    isDenied: true,
    actions: ['PutItem', 'UpdateItem'].map(action => `dynamodb:${action}`),
    resources: [parts.table.table.tableArn],
    conditions: {
      'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': taskPartitions(['canvas', 'schedule']) },
    },
  })
}

function onPartitions(
  runner: Grantee,
  { table: { table } }: Parts,
  actions: readonly string[],
  partitions: () => readonly string[],
): void {
  allow(runner, {
    actions: actions.map(action => `dynamodb:${action}`),
    resources: [table.tableArn],
    conditions: among(partitions),
  })
}

function onPlaces(runner: Grantee, { table }: Parts, places: () => readonly string[]): void {
  allow(runner, {
    actions: ['dynamodb:Query'],
    resources: [table.indexArn('place')],
    conditions: among(places),
  })
}

/** Partition keys of the table, or of the index that is queried. */
function among(partitions: () => readonly string[]): Conditions {
  const keys = Lazy.list({ produce: () => [...new Set(partitions())].sort() })
  return { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } }
}
