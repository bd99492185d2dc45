/**
 * Publishing creates a task, or applies `ifExists` to the task that has its key.
 *
 * `resolve-publication.ts` checks a request against its type and completes it with the type's defaults; `resolve-flow.ts` resolves the
 * steps of a flow. `decide-publish.ts` decides what to write, and this file writes it on the condition that no other process was faster.
 * `publishChild` publishes for handlers, and `preparePublishes` (`decide-publish.ts`) prepares publishes that a user's transaction writes.
 */

import { INLINE_BODY_BYTES_MAX } from '../../core/bounds.ts'
import type { BodyWrite } from '../../core/change.ts'
import { isGone, isUpdatable } from '../../core/publish.ts'
import {
  delayProblem,
  priorityProblem,
  stageProblem,
  unknownTypeProblem,
  wholeDelay,
} from '../../core/rules/rules.ts'
import { separateBodies } from '../../core/task/head.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { BatonError, defined, type FieldProblem, jsonBytes } from '../../core/values/values.ts'
import type { ChildPublication } from '../../define/definitions.ts'
import { readTask, sideBySide, sideBySideByName } from '../kernel/heads.ts'
import { transact } from '../kernel/kernel.ts'
import { inPublishSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { markFair } from '../place/fair.ts'
import { batchTypeReader, type TypeReader } from '../types/type-cache.ts'
import type { PublishRefusal } from './decide-publish.ts'
import { decidePublish, isDebounceSuccessor, refusalOf, withRegisteredTypes } from './decide-publish.ts'
import { problemText } from './resolve-flow.ts'
import type { PublicationDraft, PublishRequest } from './resolve-publication.ts'
import { createArrivals, requestOfBody, resolvePublication, withNewBirth } from './resolve-publication.ts'

const PUBLISHES_AT_ONCE_MAX = 25
/** The most tasks of one debounced key that run at the same time; more are refused. */
const DEBOUNCED_RUNNING_MAX = 20

export type PublishOutcome =
  /** `created`: the key was free. Otherwise `task` is the task that has the key, as `ifExists` left it. */
  | { readonly ok: true; readonly created: boolean; readonly task: Task }
  | PublishRefusal
  /**
   * `ifExists` is `reject` or `restart`, and the task is running. A `restart` is also refused while a flow is between
   * two of its steps, and while the task owes callbacks. A throttled publish is refused while these cannot be published.
   */
  | { readonly ok: false; readonly reason: 'running'; readonly task: Task }
  /** This task could not be written; the others of the batch are not affected. */
  | { readonly ok: false; readonly reason: 'error'; readonly error: unknown }

/**
 * Publishes one task; several calls may share `typeOf`.
 *
 * @throws BatonError when the store does not answer.
 */
export async function publish(
  system: System,
  request: PublishRequest,
  typeOf = batchTypeReader(system),
): Promise<PublishOutcome> {
  const [outcome] = await withRegisteredTypes(system, [await publishOfType(system, typeOf, request)])
  if (!outcome) throw new RangeError('no outcome of a publish')
  return outcome
}

/** Reads the type, completes the request, and stores the task, in a span of its own. */
async function publishOfType(
  system: System,
  typeOf: TypeReader,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const type = await typeOf(request.type)
  if (!type) return refusalOf({ unknown: [{ type: request.type, path: 'type' }] })
  return inPublishSpan(request.type, request.traceparent, async (traceparent, span) => {
    const outcome = await resolveAndStore(system, typeOf, type, { ...request, ...defined({ traceparent }) })
    span.setAttributes(attributesOf(outcome))
    return outcome
  })
}

function attributesOf(outcome: PublishOutcome): Record<string, string | boolean> {
  if (!outcome.ok) return { 'baton.refused': outcome.reason }
  return { 'baton.task.id': outcome.task.id, 'baton.created': outcome.created }
}

async function resolveAndStore(
  system: System,
  typeOf: TypeReader,
  type: TaskType,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const resolved = await resolvePublication({ ...system, typeOf }, type, request)
  if (!resolved.ok) return refusalOf(resolved)
  const { publication } = resolved
  if (request.fairnessKey !== undefined) await markFair(system, typeOf, type)
  return request.debounce
    ? storeDebounced(system, publication, request)
    : storeUnderKey(system, publication, request)
}

/**
 * Publishes many tasks independently; the outcomes are in their order. Each type is read once. The tasks arrive
 * at the same time, in their order. Of two requests with one key, the earlier one is written first.
 */
export async function publishMany(
  system: System,
  requests: readonly PublishRequest[],
): Promise<PublishOutcome[]> {
  const typeOf = batchTypeReader(system)
  const names = [...new Set(requests.map(({ type }) => type))]
  await sideBySide(names, PUBLISHES_AT_ONCE_MAX, typeOf)
  const arrivals = createArrivals(system, requests.length)
  const outcomes = await sideBySideByName(requests, PUBLISHES_AT_ONCE_MAX, idOf, (request, index) => {
    const arrived = { ...request, ...defined({ arrival: arrivals[index] }) }
    return publishOfType(system, typeOf, arrived).catch(
      error => ({ ok: false, reason: 'error', error }) as const,
    )
  })
  return withRegisteredTypes(system, outcomes)
}

/** The id of the task. Undefined without a key: such requests never have the same id. */
function idOf({ type, key }: PublishRequest): string | undefined {
  return key === undefined ? undefined : taskId(type, key)
}

/**
 * While a task of the key runs, a debounced publish waits under the next key: `k~1`, `k~2`. A task that waits already takes the new body,
 * even when an earlier task has ended since. If none waits, the first free key gets a new task.
 */
async function storeDebounced(
  system: System,
  publication: PublicationDraft,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const waiting = await waitingTaskOf(system, publication)
  if (waiting) {
    const outcome = await storeUnderKey(system, waiting.publication, request, waiting.task)
    if (outcome.ok || outcome.reason !== 'running') return outcome
  }
  for (let nth = 0; nth < DEBOUNCED_RUNNING_MAX; nth++) {
    const outcome = await storeUnderKey(system, nthPublication(publication, nth), request)
    if (outcome.ok || outcome.reason !== 'running') return outcome
  }
  throw new BatonError(
    'refused',
    `${DEBOUNCED_RUNNING_MAX} tasks of ${publication.type}:${publication.key} are running: publish again when one has ended`,
  )
}

/** The waiting task of a debounced key, under the key itself or under the key of a successor. */
async function waitingTaskOf(
  system: System,
  publication: PublicationDraft,
): Promise<{ readonly publication: PublicationDraft; readonly task: Task } | undefined> {
  for (let nth = 0; nth < DEBOUNCED_RUNNING_MAX; nth++) {
    const one = nthPublication(publication, nth)
    const task = await readTask(system, taskId(one.type, one.key))
    const isPresent = task !== undefined && !isGone(task, system.clock.now())
    if (isPresent && belongsTo(one, task) && isUpdatable(task)) return { publication: one, task }
    // The first task may be gone, past its retention, while a successor still waits.
    if (!isPresent && nth > 0) return undefined
  }
  return undefined
}

/** The publication under its nth key. A successor names the task that it follows, because an unrelated task may have such a key. */
function nthPublication(publication: PublicationDraft, nth: number): PublicationDraft {
  if (nth === 0) return publication
  const { type, key } = publication
  return { ...publication, key: `${key}~${nth}`, parentId: taskId(type, key) }
}

function belongsTo({ parentId }: PublicationDraft, task: Task): boolean {
  return parentId === undefined || isDebounceSuccessor(task, parentId)
}

/** Stores the publication under its key, on the condition that no other process was faster. */
async function storeUnderKey(
  system: System,
  publication: PublicationDraft,
  request: PublishRequest,
  known?: Task,
): Promise<PublishOutcome> {
  const id = taskId(publication.type, publication.key)
  const seen = known ?? (mustReadFirst(request) ? await readTask(system, id) : undefined)
  const attempted: BodyWrite[] = []
  const recording = isByOperator(request) ? { ...system, operator: { by: request.by } } : system
  const { decision, head: task } = await transact(recording, seen, (current, refusals) => {
    const arrival = refusals === 0 ? request.arrival : undefined
    const withBirth = arrival ? { ...publication, born: arrival.born } : withNewBirth(system, publication)
    const decided = decidePublish(current, withBirth, request, system.clock.now())
    attempted.push(...(decided.change?.bodies ?? []))
    return decided
  })
  await dropOrphans(system, id, attempted, task)
  if (!task) throw new BatonError('unavailable', `${id} was removed while it was being published`)
  return decision.ok ? { ok: true, created: decision.created, task } : { ok: false, reason: 'running', task }
}

/** Whether an operator changes a task by this publish. A debounced or throttled task is changed by the program that publishes it. */
function isByOperator(request: PublishRequest): request is PublishRequest & { readonly by: string } {
  const { by, ifExists } = request
  return by !== undefined && (ifExists === 'update' || ifExists === 'restart')
}

/**
 * Whether to read the head first. A large input is written before the head, so for a duplicate, one read saves the
 * write of the body. A publish with `once` meets a duplicate only after a fault, so it is not worth the read.
 */
function mustReadFirst({ key, input, once }: PublishRequest): boolean {
  return key !== undefined && !once && input !== undefined && jsonBytes(input) > INLINE_BODY_BYTES_MAX
}

/**
 * Deletes the inputs that this publish wrote and that the stored head does not use. The head may belong to another
 * process and use the same body, since equal input has an equal name.
 */
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
    system.log.info('the input of a publish that lost its race was not deleted; it stays until it expires', {
      taskId: id,
      error,
    })
  })
}

type Parent = { readonly task: Pick<Task, 'id' | 'userId'>; readonly traceparent?: string | undefined }

/**
 * Publishes a task from within a handler. The task inherits the user of its parent, and its trace continues from
 * the parent's run.
 *
 * @throws BatonError `unknown-type` or `invalid`, naming the field and what would be legal; `refused` when a task of the key is running.
 */
export async function publishChild(
  system: System,
  { task: { id, userId }, traceparent }: Parent,
  publication: ChildPublication,
): Promise<{ id: string; created: boolean }> {
  const problems = storageProblems(publication)
  if (problems.length > 0) throw refused('invalid', problems)
  const { delayMs, ...request } = requestOfBody(publication)
  const outcome = await publish(system, {
    ...defined({ userId, traceparent }),
    ...request,
    ...(delayMs !== undefined && { delayMs: wholeDelay(delayMs) }),
    parentId: id,
  })
  if (outcome.ok) return { id: outcome.task.id, created: outcome.created }
  switch (outcome.reason) {
    case 'unknown-type': {
      const messageOf = (type: string) => unknownTypeProblem(type, outcome.existing)
      const unknown = outcome.unknown.map(({ type, path }) => ({ path, message: messageOf(type) }))
      throw refused('unknown-type', unknown)
    }
    case 'invalid':
      throw refused('invalid', outcome.problems)
    case 'running':
      throw new BatonError('refused', `${outcome.task.id} is running`)
    case 'error':
      throw outcome.error
  }
}

/** Problems that would make the task impossible to store, or give it an invalid time. */
function storageProblems({ delayMs, dueAt, priority, stage }: ChildPublication): FieldProblem[] {
  const isInvalidTime = dueAt !== undefined && Number.isNaN(Date.parse(dueAt))
  const found: ReadonlyArray<readonly [string, string | undefined]> = [
    ['delayMs', delayMs === undefined ? undefined : delayProblem(delayMs)],
    ['dueAt', isInvalidTime ? 'must be a time such as 2026-01-31T12:00:00.000Z' : undefined],
    ['priority', priority === undefined ? undefined : priorityProblem(priority)],
    ['stage', stage === undefined ? undefined : stageProblem(stage)],
  ]
  return found.flatMap(([path, message]) => (message === undefined ? [] : [{ path, message }]))
}

function refused(code: 'unknown-type' | 'invalid', problems: readonly FieldProblem[]): BatonError {
  return new BatonError(code, problemText(problems), { problems })
}
