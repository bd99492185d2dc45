import { defined } from '../../../core/defined.ts'
import { BatonError } from '../../../core/errors.ts'
import { failureOf } from '../../../core/flow/end-piece.ts'
import { optionDifferences, type PartialOptions, resolveOptions } from '../../../core/options/options.ts'
import { indexKeys } from '../../../core/place/place.ts'
import { bucketOfView, userOfOwner } from '../../../core/place/place-names.ts'
import type { Ordering } from '../../../core/states.ts'
import type { TaskError } from '../../../core/task/error.ts'
import { deletableAt } from '../../../core/task/fence.ts'
import type { FlowDefinition, FlowState } from '../../../core/task/flow-state.ts'
import type { Head } from '../../../core/task/head.ts'
import type { HeadState, Operation, View } from '../../../core/task/head-fields.ts'
import { splitTaskId } from '../../../core/task/task.ts'
import { defaultOrdering } from '../../../core/types/task-type.ts'
import type { AttributeValue } from '../attribute-values.ts'
import { HEAD_SORT_KEY } from '../keys.ts'
import { assertKnownSchema, type Item, SCHEMA, ttlSeconds } from '../stored-form.ts'
import { type FlowValue, flowFrom, flowValue, optionsOfStep, ownOptions } from './flow-values.ts'
import { type HeadMembers, headOf, membersOf } from './head-members.ts'
import { type OriginValues, originFrom, originOf } from './origin-values.ts'
import {
  type BodyValue,
  bodyFrom,
  bodyValue,
  type EndedValue,
  endedFrom,
  endedValue,
  errorFrom,
  errorValue,
  failuresFrom,
  failuresValue,
  type LiveValue,
  liveFrom,
  liveValue,
  type WaitValue,
  waitFrom,
  waitValue,
} from './run-values.ts'

/** Translates tasks to heads and back. A head leaves out values that equal their defaults, to stay within one write unit. */

/** The head of a task as an item. `docs/data-model.md` explains each attribute. */
export type HeadItem = OriginValues & {
  readonly pk: string
  readonly sk: typeof HEAD_SORT_KEY
  readonly v: number
  readonly born: string
  readonly rev: number
  readonly op: Operation
  readonly state?: HeadState
  readonly kind?: Head['kind']
  readonly order?: Ordering
  readonly due: number
  readonly retrying?: boolean
  readonly deadline?: number
  readonly priority?: number
  readonly tags?: string
  readonly trace?: string
  readonly options?: string
  readonly input?: BodyValue
  readonly flow?: FlowValue
  readonly wait?: WaitValue
  readonly fair?: string
  readonly values?: string
  readonly fence?: number
  readonly live?: Readonly<Record<string, LiveValue>>
  readonly ended?: Readonly<Record<string, EndedValue>>
  readonly failures?: number
  readonly failuresBy?: Readonly<Record<string, number>>
  readonly error?: string
  readonly created: number
  readonly updated: number
  readonly started?: number
  readonly finished?: number
  readonly expires?: number
  readonly ttl?: number
  readonly shard?: number
  readonly vpk?: string
  readonly vsk?: number
  readonly ppk?: string
  readonly psk?: string
  readonly opk?: string
  readonly osk?: number
}

export function headItem(head: Head): HeadItem {
  const task = membersOf(head)
  return defined({
    pk: task.id,
    sk: HEAD_SORT_KEY,
    ...SCHEMA,
    ...identityOf(task),
    ...originOf(task),
    ...timesOf(task),
    ...runsOf(task),
    ...indexAttributesOf(task),
  }) as HeadItem
}

/** The stored tenant of a task that names none, in a type that has tenants. */
const NO_TENANT = ''

function identityOf(task: HeadMembers) {
  return {
    born: task.born,
    rev: task.revision,
    op: task.operation,
    state: unless('open', task.state),
    kind: unless('handler', task.kind),
    order: unless(usualOrdering(task.kind), task.ordering),
    priority: unless(0, task.priority),
    tags: task.tags && JSON.stringify(task.tags),
    trace: task.traceparent,
    options: unless(
      '{}',
      JSON.stringify(optionDifferences(task.flow ? ownOptions(task.options) : task.options)),
    ),
    input: task.input && bodyValue(task.input),
    flow: task.flow && flowValue(task.flow),
    wait: task.wait && waitValue(task.wait),
    fair: task.fairnessKey ?? (task.isFair && NO_TENANT),
    values: task.limitValues && JSON.stringify(task.limitValues),
  }
}

function timesOf(task: HeadMembers) {
  return {
    due: task.dueAt,
    retrying: unless(false, task.retrying),
    deadline: task.deadlineAt,
    created: task.createdAt,
    updated: task.updatedAt,
    started: task.startedAt,
    finished: task.finishedAt,
    expires: task.expiresAt,
    ttl: ttlOf(task),
  }
}

function ttlOf(task: HeadMembers): number | undefined {
  const deletedAt = deletableAt(task)
  return deletedAt === undefined ? undefined : ttlSeconds(deletedAt)
}

function runsOf(task: HeadMembers) {
  return {
    fence: unless(0, task.fence),
    live: mapOf(task.live, liveValue),
    ended: mapOf(task.ended, endedValue) ?? (isForSeveral(task) ? {} : undefined),
    failures: unless(0, task.failures),
    failuresBy: failuresValue(task.failuresBy),
    error: task.error && unless(failureValue(task.flow), errorValue(task.error)),
  }
}

/** Whether several workers may succeed at the same time. Counted changes write into the map of ended runs, which must exist. */
function isForSeveral({ state, options }: HeadMembers): boolean {
  return state === 'open' && options.concurrency > 1
}

function indexAttributesOf(task: HeadMembers) {
  const { view, place, owner } = indexKeys(task)
  return {
    shard: unless(0, task.shard),
    vpk: view?.partition,
    vsk: view?.sort,
    ppk: place?.partition,
    psk: place?.sort,
    opk: owner?.partition,
    osk: owner?.sort,
  }
}

/** The name of the definition that is needed to read the head of a flow. */
export function definitionNameIn(item: Item): string | undefined {
  return (item.flow as FlowValue | undefined)?.def
}

/**
 * The head in an item. A flow needs its definition.
 *
 * @throws BatonError `newer-schema` for an item that newer code has written.
 */
export function taskFromItem(item: Item, definition?: FlowDefinition): Head {
  assertKnownSchema(item)
  const head = item as HeadItem
  const name = splitTaskId(head.pk)
  if (!name)
    throw new BatonError('invalid', `the item ${head.pk} is a head, but its key is not the id of a task`)
  const flow = head.flow && flowFrom(head.flow, definition)
  const options = resolveOptions(JSON.parse(head.options ?? '{}') as PartialOptions)
  const members: HeadMembers = defined({
    id: head.pk,
    ...name,
    ...identityFrom(head),
    ...timesFrom(head),
    options: flow ? optionsOfStep(flow, options) : options,
    ...originFrom(head),
    flow,
    ...runsFrom(head),
    error: errorIn(head, flow),
    shard: head.shard ?? 0,
    view: viewFrom(head),
    place: head.ppk === undefined ? undefined : { name: head.ppk, order: head.psk ?? '' },
  })
  return headOf(members)
}

function usualOrdering(kind: Head['kind']): Ordering {
  return kind === 'canvas' || kind === 'schedule' ? 'arrival' : defaultOrdering(kind)
}

function identityFrom(head: HeadItem) {
  const kind = head.kind ?? 'handler'
  return {
    kind,
    input: head.input === undefined ? undefined : bodyFrom(head.input),
    ordering: head.order ?? usualOrdering(kind),
    born: head.born,
    revision: head.rev,
    operation: head.op,
    state: head.state ?? 'open',
    priority: head.priority ?? 0,
    userId: head.opk === undefined ? undefined : userOfOwner(head.opk),
    tags: head.tags === undefined ? undefined : (JSON.parse(head.tags) as Record<string, string>),
    traceparent: head.trace,
    wait: head.wait && waitFrom(head.wait),
    fairnessKey: head.fair === NO_TENANT ? undefined : head.fair,
    isFair: head.fair === NO_TENANT ? (true as const) : undefined,
    limitValues:
      head.values === undefined ? undefined : (JSON.parse(head.values) as Record<string, string | null>),
  }
}

function timesFrom(head: HeadItem) {
  return {
    dueAt: head.due,
    retrying: head.retrying ?? false,
    deadlineAt: head.deadline,
    createdAt: head.created,
    updatedAt: head.updated,
    startedAt: head.started,
    finishedAt: head.finished,
    expiresAt: head.expires,
  }
}

function runsFrom(head: HeadItem) {
  return {
    fence: head.fence ?? 0,
    live: runMap(head.live, liveFrom),
    ended: runMap(head.ended, endedFrom),
    failures: head.failures ?? 0,
    failuresBy: failuresFrom(head.failuresBy),
  }
}

/** The error of a task. A flow keeps its error with the failed step. A flow that undoes its steps after a cancel has not failed. */
function errorIn({ error, state }: HeadItem, flow: FlowState | undefined): TaskError | undefined {
  if (error !== undefined) return errorFrom(error)
  const hasFailed = state === 'failed' || (state === undefined && flow?.direction === 'undo')
  return hasFailed && !flow?.cancelling ? failureOf(flow) : undefined
}

function failureValue(flow: FlowState | undefined): string | undefined {
  const failure = flow?.cancelling ? undefined : failureOf(flow)
  return failure && errorValue(failure)
}

function viewFrom({ vpk, vsk }: HeadItem): View | undefined {
  if (vpk === undefined || vsk === undefined) return undefined
  return { bucket: bucketOfView(vpk), sort: vsk }
}

/** Whether an image of the table's stream shows a head. The planner ignores all other items. */
export function isHeadImage(image: Readonly<Record<string, AttributeValue>>): boolean {
  return image.sk?.S === HEAD_SORT_KEY
}

function unless<T>(absent: T, value: T): T | undefined {
  return value === absent ? undefined : value
}

/** The map as it is stored, or undefined when it is empty. A later write to a missing map writes the whole map. */
function mapOf<T, V>(
  record: Readonly<Record<string, T>>,
  value: (member: T) => V,
): Record<string, V> | undefined {
  const members = Object.entries(record).map(([name, member]) => [name, value(member)] as const)
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

function runMap<V, R>(
  map: Readonly<Record<string, V>> | undefined,
  from: (fence: number, value: V) => R,
): Record<string, R> {
  return Object.fromEntries(
    Object.entries(map ?? {}).map(([fence, value]) => [fence, from(Number(fence), value)]),
  )
}
