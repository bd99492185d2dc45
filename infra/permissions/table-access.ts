/**
 * Grants users' code access to the table, limited by the leading keys of partitions. A worker reaches the types that it serves,
 * a publisher those that it publishes and reads. Neither may write the configuration of a type, a canvas or a schedule, and neither may
 * delete a task: the system deletes what a task leaves behind.
 *
 * The partitions of the table and of its index `place`, as IAM patterns for `dynamodb:LeadingKeys`. Names of types contain
 * neither `:`, `#` nor `=`, so the pattern of one type never matches another type.
 */

import * as keys from '../../shared/aws/dynamo/keys.ts'
import { limitName } from '../../shared/core/limits/limits.ts'
import { ownerPartition, readyPlace, runningPlace } from '../../shared/core/place/place.ts'
import { MARKER_CURSOR_PATTERN } from '../../shared/core/record-names.ts'
import { typeNameProblems } from '../../shared/core/rules/type-configuration.ts'
import { type StepConfiguration, stepTypes } from '../../shared/core/types/task-type.ts'
import { illegal } from '../../shared/core/values/values.ts'
import { allow, type Grantee, type KeyPatterns, type RolePolicies } from './permissions.ts'

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
  if (!isAny) parts.reach.addWriter(taskTypes)
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
  if (types !== 'any') parts.reach.addWriter(taskTypes)
  onPartitions(grantee, parts, ['BatchGetItem'], () => [taskPartitions(taskTypes())])
  onPartitions(grantee, parts, ['GetItem', 'Query', 'PutItem', 'UpdateItem'], () => [
    ...taskPartitions(taskTypes()),
    ...turnPartitions(placeTypes()),
  ])
  // Why a task waits follows from slots, permits and workers. A task shows what a canvas hands on to it. The slots and lines of all
  // limits hold numbers of starts and hashes, and no data of tasks.
  onPartitions(grantee, parts, ['GetItem'], () => [keys.slotsPartition('*'), ...taskPartitions(['canvas'])])
  onPartitions(grantee, parts, ['BatchGetItem'], () => permitPartitions(placeTypes()))
  onPartitions(grantee, parts, ['Query'], () => [keys.WORKERS_PARTITION, keys.GONE_WORKERS_PARTITION])
  onIndexes(grantee, parts, ['place', 'view'], () => [
    ...readyPlaces(placeTypes()),
    ...taskTypes().map(type => runningPlace(type, 0).replace(/0$/, '*')),
    ...taskTypes().map(type => `${type}#*`),
  ])
  openTypes(grantee, parts)
  if (types !== 'any') return
  onIndexes(grantee, parts, ['owner'], () => [ownerPartition('*')])
  denyCanvasWrites(grantee, parts)
}

/** Allows code to read types, to record that a type has tenants, and to store the steps of flows. */
function openTypes(grantee: Grantee, parts: Reachable): void {
  onPartitions(grantee, parts, ['GetItem', 'Query'], () => [keys.TYPES_PARTITION])
  const { tableArn } = parts.table.table
  allow(grantee, {
    actions: ['dynamodb:UpdateItem'],
    resources: [tableArn],
    conditions: {
      'ForAllValues:StringEquals': {
        'dynamodb:LeadingKeys': [keys.TYPES_PARTITION],
        'dynamodb:Attributes': [
          keys.PRIMARY_KEY.partition,
          keys.PRIMARY_KEY.sort,
          keys.VERSION_ATTRIBUTE,
          keys.FAIR_ATTRIBUTE,
        ],
      },
    },
  })
  // A partition of steps is named by a hash of them, not by a type.
  onPartitions(grantee, parts, ['GetItem', 'PutItem'], () => [keys.definitionPartition('*')])
}

/** Opens the registry of all workers, the markers by which workers find the tasks that name them, and a worker's position in these. */
function openRegistry(grantee: Grantee, parts: Reachable): void {
  onPartitions(grantee, parts, ['GetItem', 'PutItem', 'DeleteItem'], () => [keys.WORKERS_PARTITION])
  onPartitions(grantee, parts, ['PutItem'], () => [keys.GONE_WORKERS_PARTITION])
  onPartitions(grantee, parts, ['Query', 'BatchGetItem', 'DeleteItem'], () => [keys.targetPartition('*')])
  onPartitions(grantee, parts, ['GetItem', 'PutItem'], () => [keys.recordPartition(MARKER_CURSOR_PATTERN)])
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

const ANY_TYPE = '*'

/** Heads, inputs, results and run records of tasks. */
function taskPartitions(types: readonly string[]): string[] {
  return types.map(type => `${type}:*`)
}

/** The slots and lines of the types' rate limits. */
function slotPartitions(types: readonly string[]): string[] {
  return types
    .flatMap(type => (type === ANY_TYPE ? [ANY_TYPE] : [type, keyedLimits(type)]))
    .map(keys.slotsPartition)
}

/** The permits of the types' concurrency limits, one list for each type. One request reads several shards of a limit. */
function permitPartitions(types: readonly string[]): string[][] {
  return types.map(type =>
    type === ANY_TYPE
      ? [keys.permitsPartition(ANY_TYPE)]
      : [
          keys.permitsPartition(type),
          keys.permitsPartition(keyedLimits(type)),
          keys.permitsPartition(type, 1).replace(/1$/, '*'),
        ],
  )
}

/** The turns of tenants. A publisher writes no other counts. */
function turnPartitions(types: readonly string[]): string[] {
  // A type has one line, or one per priority if it is ordered by priority.
  return types.flatMap(type => [keys.turnsPartition(`${type}#*`), keys.frontPartition(`${type}#*`)])
}

/** The places in which tasks of these types wait to be claimed in order. */
function readyPlaces(types: readonly string[]): string[] {
  return types.map(type => readyPlace(type, 0).replace(/0$/, '*'))
}

function keyedLimits(type: string): string {
  return limitName(type, 'any', '*')
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
 * The flows of one system, and the programs that are limited to some types. A flow's tasks are stored under the flow's type, whichever type does their present step. They wait in
 * the places of the types that do their steps. The app may add flows in any order, so grants are resolved at synthesis.
 */
export class TypeReach {
  private readonly flows: Flow[] = []
  /** For each program that is limited to some types: the types whose heads it may write. */
  private readonly writers: Array<() => readonly string[]> = []

  add(type: string, steps: readonly StepConfiguration[] = []): void {
    this.flows.push({ type, stepTypes: stepTypes({ steps }) })
  }

  addWriter(types: () => readonly string[]): void {
    this.writers.push(types)
  }

  /**
   * Returns the types that the tasks of a type may name besides their own: those that each limited program that writes heads of this type
   * may write, too. A type that no limited program writes is left out, since it is not bound.
   */
  otherTypes(): Readonly<Record<string, readonly string[]>> {
    const reached = this.writers.map(types => types())
    const bound = [...new Set(reached.flat())].sort().map(type => {
      const [first = [], ...others] = reached.filter(types => types.includes(type))
      const common = first.filter(one => one !== type && others.every(types => types.includes(one)))
      return [type, [...new Set(common)].sort()] as const
    })
    return Object.fromEntries(bound)
  }

  /** Returns these types and the flows whose steps they do. The tasks that these types serve are stored under all of these. */
  withFlows(types: GrantedTypes): readonly string[] {
    if (types === 'any') return [ANY_TYPE]
    const flows = this.flows.filter(({ stepTypes }) => stepTypes.some(type => types.includes(type)))
    return [...new Set([...types, ...flows.map(({ type }) => type)])]
  }

  /** Returns these types and the types that do the steps of the flows among them. The tasks wait in the places of these types. */
  withSteps(types: readonly string[]): readonly string[] {
    const flows = this.flows.filter(({ type }) => types.includes(type))
    return [...new Set([...types, ...flows.flatMap(({ stepTypes }) => stepTypes)])]
  }
}

/** @throws BatonError `invalid` for an empty list, and for what `typesWithin` refuses. */
export function grantedTypes(types: readonly string[] | undefined): GrantedTypes {
  if (types?.length === 0) throw illegal("'types' is empty; name at least one type")
  return types === undefined ? 'any' : typesWithin('types', types)
}

/** @throws BatonError `invalid` for an illegal type name: `*` would match every type, and `canvas` all canvases. */
export function typesWithin(option: string, types: readonly string[]): readonly string[] {
  const wrong = types.find(type => typeNameProblems(type, '').length > 0)
  if (wrong !== undefined) throw illegal(`'${option}' names '${wrong}', which is not a valid type name`)
  return types
}
