/**
 * Publishing creates a task, or does with the task that has its key what `ifExists` says. A request is checked against
 * its type and completed with the type's defaults (`publication-of.ts`), a flow gets its resolved steps (`resolve-
 * flow.ts`), and the head is written with the condition that nobody else has created it. Handlers publish children in
 * the same way.
 */
import { INLINE_BODY_BYTES_MAX } from '../../core/bounds.ts'
import { BatonError, type FieldProblem } from '../../core/errors.ts'
import { jsonBytes } from '../../core/json.ts'
import { isGone } from '../../core/publish/publish.ts'
import { isUpdatable } from '../../core/publish/update.ts'
import { type BodyWrite, separateBodies } from '../../core/task/body.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { markFair } from '../fair/mark-fair.ts'
import { transact } from '../kernel/kernel.ts'
import { sideBySide, sideBySideByName } from '../kernel/side-by-side.ts'
import { inPublishSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { batchTypeReader, type TypeReader } from '../types/type-cache.ts'
import { decidePublish, isDebounceSuccessor } from './decide-publish.ts'
import {
  createArrivals,
  type PublicationDraft,
  type PublishRequest,
  resolvePublication,
  type UnknownType,
  withNewBirth,
} from './publication-of.ts'

/** Publishes of one batch that are under way at a time. */
const MOST_AT_ONCE = 25
/** Tasks of one debounced key that run at a time; more are refused. */
const MAX_DEBOUNCED = 20

export type PublishOutcome =
  /** `created`: the key was free. Otherwise the task is the one that has it, as `ifExists` left it. */
  | { readonly ok: true; readonly created: boolean; readonly task: Task }
  /** `unknown`: the types that are not registered, its own or those of what follows it, and where they are named. */
  | {
      readonly ok: false
      readonly reason: 'unknown-type'
      readonly unknown: readonly UnknownType[]
      readonly existing: readonly string[]
    }
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }
  /** `ifExists` `reject` or `restart` met a running task. */
  | { readonly ok: false; readonly reason: 'running'; readonly task: Task }
  /** This one could not be written; the others of the batch are not concerned. */
  | { readonly ok: false; readonly reason: 'error'; readonly error: unknown }

/** Publishes one task; `typeOf` may be shared by several. @throws BatonError when the store does not answer. */
export async function publish(
  system: System,
  request: PublishRequest,
  typeOf = batchTypeReader(system),
): Promise<PublishOutcome> {
  const [outcome] = await withNames(system, [await publishOne(system, typeOf, request)])
  if (!outcome) throw new RangeError('no outcome of a publish')
  return outcome
}

async function publishOne(
  system: System,
  typeOf: TypeReader,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const type = await typeOf(request.type)
  return type
    ? publishTo(system, typeOf, type, request)
    : unknownTypes([{ type: request.type, path: 'type' }])
}

/**
 * Publishes many, each for itself, answers in their order. Each type is read once. They arrive at one time, in their order;
 * of requests with one key, the earlier in the batch is written first.
 */
export async function publishMany(
  system: System,
  requests: readonly PublishRequest[],
): Promise<PublishOutcome[]> {
  const typeOf = batchTypeReader(system)
  const names = [...new Set(requests.map(({ type }) => type))]
  await sideBySide(names, MOST_AT_ONCE, typeOf)
  const arrived = createArrivals(system, requests.length)
  const outcomes = await sideBySideByName(requests, MOST_AT_ONCE, idOf, (request, index) => {
    const arrival = arrived[index]
    return publishOne(system, typeOf, { ...request, ...(arrival && { arrival }) }).catch(
      error => ({ ok: false, reason: 'error', error }) as const,
    )
  })
  return withNames(system, outcomes)
}

/** Undefined without a key: such requests never meet. */
function idOf({ type, key }: PublishRequest): string | undefined {
  return key === undefined ? undefined : taskId(type, key)
}

function unknownTypes(unknown: readonly UnknownType[]): PublishOutcome {
  return { ok: false, reason: 'unknown-type', unknown, existing: [] }
}

/** Refusals of unknown types name those that exist, which are listed once for all of them. */
async function withNames(system: System, outcomes: readonly PublishOutcome[]): Promise<PublishOutcome[]> {
  const isUnknown = (outcome: PublishOutcome) => !outcome.ok && outcome.reason === 'unknown-type'
  if (!outcomes.some(isUnknown)) return [...outcomes]
  const existing = (await system.types.list()).map(({ type }) => type).sort()
  return outcomes.map(outcome => (isUnknown(outcome) ? { ...outcome, existing } : outcome))
}

function publishTo(
  system: System,
  typeOf: TypeReader,
  type: TaskType,
  request: PublishRequest,
): Promise<PublishOutcome> {
  return inPublishSpan(request.type, request.traceparent, async (traceparent, span) => {
    const outcome = await write(system, typeOf, type, {
      ...request,
      ...(traceparent !== undefined && { traceparent }),
    })
    span.setAttributes(attributesOf(outcome))
    return outcome
  })
}

function attributesOf(outcome: PublishOutcome): Record<string, string | boolean> {
  if (!outcome.ok) return { 'baton.refused': outcome.reason }
  return { 'baton.task.id': outcome.task.id, 'baton.created': outcome.created }
}

async function write(
  system: System,
  typeOf: TypeReader,
  type: TaskType,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const wanted = await resolvePublication({ ...system, typeOf }, type, request)
  if (!wanted.ok && wanted.unknown.length > 0) return unknownTypes(wanted.unknown)
  if (!wanted.ok) return { ok: false, reason: 'invalid', problems: wanted.problems }
  const { publication } = wanted
  if (request.fairnessKey !== undefined) await markFair(system, typeOf, type)
  if (request.debounce) return writeDebounced(system, publication, request)
  return writeUnder(system, publication, request)
}

/**
 * While a task of the key runs, what is published waits under the next key: `k~1`, `k~2`. One that waits already takes it,
 * though an earlier one may have ended since; only where none does, the first that is free begins.
 */
async function writeDebounced(
  system: System,
  publication: PublicationDraft,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const waiting = await waitingOf(system, publication)
  if (waiting) {
    const outcome = await writeUnder(system, waiting.publication, request, waiting.task)
    if (outcome.ok || outcome.reason !== 'running') return outcome
  }
  for (let nth = 0; nth < MAX_DEBOUNCED; nth++) {
    const outcome = await writeUnder(system, nthOf(publication, nth), request)
    if (outcome.ok || outcome.reason !== 'running') return outcome
  }
  throw new BatonError(
    'refused',
    `${MAX_DEBOUNCED} tasks of ${publication.type}:${publication.key} are running`,
  )
}

/** The one of a debounced key that waits, under the key itself or one of those in a row that follow it. */
async function waitingOf(
  system: System,
  publication: PublicationDraft,
): Promise<{ readonly publication: PublicationDraft; readonly task: Task } | undefined> {
  for (let nth = 0; nth < MAX_DEBOUNCED; nth++) {
    const one = nthOf(publication, nth)
    const task = await system.tasks.head(taskId(one.type, one.key))
    const isThere = task !== undefined && !isGone(task, system.clock.now())
    if (isThere && isOf(one, task) && isUpdatable(task)) return { publication: one, task }
    // The first may be gone, its retention over, while another still waits.
    if (!isThere && nth > 0) return undefined
  }
  return undefined
}

/** Successors name the task that they follow: somebody else's task may have such a key, too. */
function nthOf(publication: PublicationDraft, nth: number): PublicationDraft {
  if (nth === 0) return publication
  const { type, key } = publication
  return { ...publication, key: `${key}~${nth}`, parentId: taskId(type, key) }
}

function isOf({ parentId }: PublicationDraft, task: Task): boolean {
  return parentId === undefined || isDebounceSuccessor(task, parentId)
}

async function writeUnder(
  system: System,
  publication: PublicationDraft,
  request: PublishRequest,
  known?: Task,
): Promise<PublishOutcome> {
  const id = taskId(publication.type, publication.key)
  const seen = known ?? (isWorthALook(request) ? await system.tasks.head(id) : undefined)
  const attempted: BodyWrite[] = []
  const acting = isByPerson(request) ? { ...system, operator: { by: request.by } } : system
  const { decision, task } = await transact(acting, seen, (current, conflicts) => {
    const arrival = conflicts === 0 ? request.arrival : undefined
    const born = arrival ? { ...publication, born: arrival.born } : withNewBirth(system, publication)
    const decided = decidePublish(current, born, request, system.clock.now())
    attempted.push(...(decided.change?.bodies ?? []))
    return decided
  })
  await dropOrphans(system, id, attempted, task)
  if (!task) throw new BatonError('unavailable', `${id} vanished while it was published`)
  return decision.ok ? { ok: true, created: decision.created, task } : { ok: false, reason: 'running', task }
}

/** What is debounced or throttled is changed by the program that goes on publishing it. */
function isByPerson(request: PublishRequest): request is PublishRequest & { readonly by: string } {
  const { by, ifExists } = request
  return by !== undefined && (ifExists === 'update' || ifExists === 'restart')
}

/** A large input is written before the head: a look before that costs a duplicate one read instead of its body. Who
 * publishes once has looked. */
function isWorthALook({ key, input, once }: PublishRequest): boolean {
  return key !== undefined && !once && input !== undefined && jsonBytes(input) > INLINE_BODY_BYTES_MAX
}

/** Inputs that lost their race, and that the head which won does not share (equal input has an equal name). */
async function dropOrphans(
  system: System,
  id: string,
  attempted: readonly BodyWrite[],
  task: Task | undefined,
): Promise<void> {
  const kept = new Set(task ? separateBodies(task).map(({ ref }) => ref) : [])
  const orphans = attempted.filter(({ ref }) => !kept.has(ref))
  if (orphans.length === 0) return
  await system.tasks.dropBodies(id, orphans).catch(error => {
    system.log.info('an input that lost its race stays until it expires', { taskId: id, error })
  })
}
