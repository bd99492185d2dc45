import { failedStepError } from '../../../core/flow/pieces.ts'
import { optionDifferences, type PartialOptions, resolveOptions } from '../../../core/options.ts'
import { bucketOfView, indexKeys, userOfOwner } from '../../../core/place/place.ts'
import type { Ordering } from '../../../core/states.ts'
import type { FlowDefinition, FlowState } from '../../../core/task/flow-state.ts'
import { deletableAt, type Head } from '../../../core/task/head.ts'
import type {
  CanvasState,
  HeadState,
  Operation,
  ScheduleState,
  View,
} from '../../../core/task/head-fields.ts'
import { splitTaskId, type Task, type Unpublished } from '../../../core/task/task.ts'
import type { TaskError } from '../../../core/task-error/task-error.ts'
import { defaultOrdering } from '../../../core/types/task-type.ts'
import { defined, illegal } from '../../../core/values/values.ts'
import {
  always,
  asIs,
  attributesOf,
  flag,
  json,
  literal,
  mapped,
  number,
  optional,
  type StoredBy,
  text,
  withDefault,
} from '../attributes.ts'
import { type AttributeValue, type Item, SCHEMA, ttlSeconds } from '../documents.ts'
import { HEAD_SORT_KEY } from '../keys.ts'
import {
  body,
  byFence,
  CALLBACKS,
  CANVAS,
  ENDED_RUN,
  flowFrom,
  LIVE_RUN,
  MEMBER,
  numbersByWorker,
  operations,
  optionsOfStep,
  ownOptions,
  previous,
  schedule,
  storedFlow,
  taskError,
  wait,
} from './head-attributes.ts'

/**
 * Translates heads to items and back. `HEAD` is the table of their attributes: a new member of a head is one new row. The functions below
 * it handle the members that share an attribute or follow from several. `docs/data-model.md` explains each attribute.
 */

/** The members that no row of `HEAD` describes. */
type Derived =
  | 'id'
  | 'type'
  | 'key'
  | 'ordering'
  | 'options'
  | 'flow'
  | 'fairnessKey'
  | 'isFair'
  | 'error'
  | 'userId'
  | 'view'
  | 'place'

/** Each path takes some 20 characters, and an update expression may have 4 KB. */
const DIFFERING_ENTRIES_MAX = 40

/**
 * Several writers change the maps `live`, `ended` and `failuresBy` side by side. Heartbeats move a run's lease while other writers change
 * the rest of the run. The other two maps change only with a new revision, so a change that names the revision may write them whole.
 */
export const HEAD = attributesOf<Omit<HeadMembers, Derived>>()({
  born: always('born', text),
  revision: always('rev', number),
  operation: always('op', literal<Operation>()),
  state: withDefault('state', literal<HeadState>(), 'open'),
  kind: withDefault('kind', literal<Head['kind']>(), 'handler'),
  priority: withDefault('priority', number, 0),
  tags: optional('tags', json<NonNullable<Task['tags']>>()),
  traceparent: optional('trace', text),
  input: optional('input', body),
  wait: optional('wait', wait),
  limitValues: optional('values', json<NonNullable<Task['limitValues']>>()),

  previous: optional('prev', previous),
  immutable: optional('fixed', flag),
  stage: optional('stage', text),
  stageChanges: optional('moves', number),
  callbacks: optional('calls', CALLBACKS),
  owes: optional('owes', flag),
  unpublished: optional('unpub', asIs<Unpublished>()),
  parentId: optional('parent', text),
  causedBy: optional('cause', text),
  member: optional('member', MEMBER),
  canvas: optional('canvas', CANVAS),
  schedule: optional('sched', schedule),
  edits: optional('edits', number),
  operations: optional('ops', operations),

  dueAt: always('due', number),
  retrying: withDefault('retrying', flag, false),
  deadlineAt: optional('deadline', number),
  createdAt: always('created', number),
  updatedAt: always('updated', number),
  startedAt: optional('started', number),
  finishedAt: optional('finished', number),
  expiresAt: optional('expires', number),

  fence: withDefault('fence', number, 0),
  live: mapped('live', byFence(LIVE_RUN), { levels: 2 }),
  ended: mapped('ended', byFence(ENDED_RUN), { levels: 1, differingMax: DIFFERING_ENTRIES_MAX }),
  failures: withDefault('failures', number, 0),
  failuresBy: mapped('failuresBy', numbersByWorker, { levels: 1, differingMax: DIFFERING_ENTRIES_MAX }),
  firstBorn: optional('firstBorn', text),
  retryAtBy: mapped('retryAtBy', numbersByWorker),

  shard: withDefault('shard', number, 0),
})

export type HeadItem = {
  readonly pk: string
  readonly sk: typeof HEAD_SORT_KEY
  readonly v: number
} & StoredBy<typeof HEAD> &
  ReturnType<typeof derivedAttributes>

export function headItem(head: Head): HeadItem {
  const members = membersOf(head)
  return {
    pk: head.id,
    sk: HEAD_SORT_KEY,
    ...SCHEMA,
    ...(isForSeveral(members) && { ended: {} }),
    ...HEAD.encode(members),
    ...derivedAttributes(members),
  }
}

/** Whether several workers may succeed at the same time. Counted changes write into the map of ended runs, which must exist. */
function isForSeveral({ state, options }: HeadMembers): boolean {
  return state === 'open' && options.concurrency > 1
}

/** The stored tenant of a task that names none, in a type that has tenants. */
const NO_TENANT = ''

/** The attributes that depend on several members. */
function derivedAttributes(members: HeadMembers) {
  const { kind, ordering, flow, fairnessKey, isFair } = members
  const { view, place, owner } = indexKeys(members)
  return defined({
    order: ordering === usualOrdering(kind) ? undefined : ordering,
    options: storedOptions(members),
    flow: flow && storedFlow(flow),
    fair: fairnessKey ?? (isFair && NO_TENANT),
    error: storedError(members),
    ttl: ttlOf(members),
    vpk: view?.partition,
    vsk: view?.sort,
    ppk: place?.partition,
    psk: place?.sort,
    opk: owner?.partition,
    osk: owner?.sort,
  })
}

/** The present step of a flow gives the options of its runs, so the head of a flow stores only its retention. */
function storedOptions({ flow, options }: HeadMembers): string | undefined {
  const differences = optionDifferences(flow ? ownOptions(options) : options)
  return Object.keys(differences).length > 0 ? JSON.stringify(differences) : undefined
}

/** A flow keeps its error with the failed step. */
function storedError({ flow, error }: HeadMembers): string | undefined {
  if (!error) return undefined
  const failure = flow?.cancelling ? undefined : failedStepError(flow)
  const stored = taskError.encode(error)
  return failure && taskError.encode(failure) === stored ? undefined : stored
}

function ttlOf(members: HeadMembers): number | undefined {
  const deletedAt = deletableAt(members)
  return deletedAt === undefined ? undefined : ttlSeconds(deletedAt)
}

/** The name of the definition that is needed to read the head of a flow. */
export function definitionNameIn(item: Item): string | undefined {
  return (item as HeadItem).flow?.def
}

/** The head in an item of a form that this code knows. A flow needs its definition. */
export function taskFromItem(item: Item, definition?: FlowDefinition): Head {
  const head = item as HeadItem
  const name = splitTaskId(head.pk)
  if (!name) throw illegal(`the item ${head.pk} is a head, but its key is not the id of a task`)
  const members = HEAD.decode(head)
  const flow = head.flow && flowFrom(head.flow, definition)
  const options = resolveOptions(JSON.parse(head.options ?? '{}') as PartialOptions)
  return headOf({
    id: head.pk,
    ...name,
    ...members,
    ordering: head.order ?? usualOrdering(members.kind),
    options: flow ? optionsOfStep(flow, options) : options,
    ...defined({
      flow,
      ...tenantFrom(head),
      error: errorFrom(head, flow),
      userId: head.opk === undefined ? undefined : userOfOwner(head.opk),
      view: viewFrom(head),
      place: head.ppk === undefined ? undefined : { name: head.ppk, order: head.psk ?? '' },
    }),
  })
}

function usualOrdering(kind: Head['kind']): Ordering {
  return kind === 'canvas' || kind === 'schedule' ? 'arrival' : defaultOrdering(kind)
}

/** The client of a user's transaction may be set to store an empty text as null. */
function tenantFrom({ fair }: HeadItem): Pick<Task, 'fairnessKey' | 'isFair'> {
  if (fair === undefined) return {}
  return fair === NO_TENANT || fair === null ? { isFair: true } : { fairnessKey: fair }
}

/** A flow that undoes its steps after a cancel has not failed. */
function errorFrom({ error, state }: HeadItem, flow: FlowState | undefined): TaskError | undefined {
  if (error !== undefined) return taskError.decode(error)
  const hasFailed = state === 'failed' || (state === undefined && flow?.direction === 'undo')
  return hasFailed && !flow?.cancelling ? failedStepError(flow) : undefined
}

function viewFrom({ vpk, vsk }: HeadItem): View | undefined {
  if (vpk === undefined || vsk === undefined) return undefined
  return { bucket: bucketOfView(vpk), sort: vsk }
}

/** Whether an image of the table's stream shows a head. The planner ignores all other items. */
export function isHeadImage(image: Readonly<Record<string, AttributeValue>>): boolean {
  return image.sk?.S === HEAD_SORT_KEY
}

/**
 * The members of all kinds of heads together. An item has an attribute for each member that its kind has and whose value is not
 * the default.
 */
export type HeadMembers = Omit<Task, 'kind'> & {
  readonly kind: Head['kind']
  readonly canvas?: CanvasState
  readonly schedule?: ScheduleState
}

/** What only tasks always have, with the values that an item leaves out. */
export const DEFAULTS_OF_TASKS = {
  ordering: 'arrival',
  retrying: false,
  priority: 0,
  live: {},
  ended: {},
  failures: 0,
  failuresBy: {},
  retryAtBy: {},
} as const satisfies Partial<Task>

export function membersOf(head: Head): HeadMembers {
  return { ...DEFAULTS_OF_TASKS, ...head }
}

/**
 * The head with the members of its kind.
 *
 * @throws BatonError `invalid` for a canvas or a schedule that lacks what it consists of.
 */
function headOf(members: HeadMembers): Head {
  const { id, type, state, kind, input, canvas, schedule } = members
  if (kind !== 'canvas' && kind !== 'schedule') return { ...members, kind }
  // A program that may write tasks of one type could otherwise write a canvas or a schedule with tasks of all types.
  if (kind !== type) throw illegal(`${id} is stored as a ${kind}, and its id is not the id of one`)
  const isWhole =
    state === 'removed' || canvas !== undefined || (schedule !== undefined && input !== undefined)
  if (!isWhole) throw illegal(`${id} is stored as a ${kind} without what a ${kind} consists of`)
  const own = Object.entries(members).filter(([name]) => !Object.hasOwn(DEFAULTS_OF_TASKS, name))
  return { ...Object.fromEntries(own), kind } as Head
}
