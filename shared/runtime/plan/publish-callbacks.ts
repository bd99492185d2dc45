import { BODY_GRACE_MS } from '../../core/bounds.ts'
import { recordCallbacksPublished, recordUnpublishable } from '../../core/operate/operate.ts'
import type { HandedOn } from '../../core/publish.ts'
import { unknownTypeProblem } from '../../core/rules/rules.ts'
import { bodiesExpiringBefore } from '../../core/task/head.ts'
import { bodyExpiry } from '../../core/task/head-fields.ts'
import { resultOf } from '../../core/task/piece.ts'
import type { Callbacks, Task, Unpublished } from '../../core/task/task.ts'
import { cut } from '../../core/task-error/task-error.ts'
import { mayCall, notAllowed } from '../../core/types/other-types.ts'
import { defined, type FieldProblem, type Json } from '../../core/values/values.ts'
import {
  BODY_ALERT_MS,
  failureOf,
  faultOf,
  fullError,
  type PlanFailure,
  publishedBody,
  readTask,
  sideBySide,
} from '../kernel/heads.ts'
import { transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { refusalOf } from '../publish/decide-publish.ts'
import { type PublishOutcome, publishMany } from '../publish/publish.ts'
import type { PublishRequest } from '../publish/resolve-publication.ts'
import { cachedType } from '../types/type-cache.ts'

/** Each task publishes several callbacks at the same time, too. */
const TASKS_AT_ONCE_MAX = 10

/**
 * Publishes the callbacks that the ends of these tasks owe, and records that it is done.
 *
 * The head is read again before, because a stream that is read again much later must not bring back callbacks
 * whose own retention is over. A callback's key follows from the task and its end. So a process may die between
 * any two writes: a callback that is published twice is created once.
 */
export async function publishCallbacksOfTasks(
  system: System,
  tasks: readonly Task[],
): Promise<PlanFailure[]> {
  const failures = await sideBySide(tasks, TASKS_AT_ONCE_MAX, async task => {
    try {
      await publishCallbacksOfTask(system, task)
      return []
    } catch (error) {
      return [failureOf(task.id, error)]
    }
  })
  return failures.flat()
}

/**
 * Publishes the callbacks that the end of one task owes. A callback that is refused for good stays owed. The head
 * records why, the planner logs it when the change reaches the stream, and later tries publish these callbacks
 * only.
 *
 * @throws the error that kept a callback from being published.
 */
export async function publishCallbacksOfTask(
  system: System,
  { id, born }: Pick<Task, 'id' | 'born'>,
): Promise<void> {
  const head = await readTask(system, id)
  if (!head?.owes || head.born !== born) return
  const unpublished = head.callbacks && (await publishEachOwed(system, head, head.callbacks))
  // Another process may have published these callbacks meanwhile, and the task may have been resumed and ended
  // again. Then it owes new callbacks, which are not published yet.
  await transactBirth(system, head, current => {
    if (current.revision !== head.revision) return OUTDATED
    const now = system.clock.now()
    return unpublished
      ? recordUnpublishable(current, unpublished, now)
      : recordCallbacksPublished(current, now)
  })
}

const OUTDATED = { ok: false, reason: 'outdated' } as const

/** Publishes the callbacks that are still owed; returns those that were refused. */
async function publishEachOwed(
  system: System,
  task: Task,
  { body }: Callbacks,
): Promise<Unpublished | undefined> {
  const judgedAt = system.clock.now()
  const stored = (await publishedBody(system, task, body)) as StoredCallbacks | undefined
  const when = task.state === 'succeeded' ? 'onSuccess' : 'onError'
  const requests = stored?.[when] ?? []
  const indices = task.unpublished?.indices ?? [...requests.keys()]
  const previous = await readHandedOn(system, task)
  const owed = indices.flatMap(index => callbackRequest(task, requests[index], index, previous) ?? [])
  const outcomes = await publishAllowed(system, task, owed)
  const published = outcomes.flatMap(outcome => (outcome.ok ? outcome.task : []))
  await renewResult(system, task, published)
  const problems = indices.flatMap((index, nth) => problemsOf(outcomes[nth], `${when}.${index}`))
  const refused = indices.filter((_index, nth) => outcomes[nth]?.ok === false)
  if (refused.length === 0) return undefined
  const revision = task.unpublished?.revision ?? task.revision
  return { indices: refused, problems: problems.slice(0, PROBLEMS_MAX), judgedAt, revision }
}

/** Publishes the callbacks that deployment allows to the task's type, and refuses the others. The outcomes are in the order of the requests. */
async function publishAllowed(
  system: System,
  task: Task,
  requests: readonly PublishRequest[],
): Promise<PublishOutcome[]> {
  const isOfOthers = requests.some(({ type }) => type !== task.type)
  const own = isOfOthers ? (await cachedType(system, task.type)).value : undefined
  const allowed = requests.filter(({ type }) => mayCall(own, type))
  const published = await publishMany(system, allowed)
  return requests.flatMap(({ type }) => {
    if (!own || mayCall(own, type)) return published.shift() ?? []
    return refusalOf(notAllowed(own, type))
  })
}

/** The head has little space, so it keeps this many problems. */
const PROBLEMS_MAX = 3
const PROBLEM_CHARACTERS_MAX = 300

/**
 * Why a callback is refused. It was checked against its type when the task was published, but the type may have
 * changed since, and the stored or resulting body may be unusable.
 *
 * @throws an error that does not concern this callback alone.
 */
function problemsOf(outcome: PublishOutcome | undefined, at: string): FieldProblem[] {
  if (!outcome || outcome.ok) return []
  switch (outcome.reason) {
    case 'unknown-type':
      return outcome.unknown.map(({ type, path }) =>
        shortProblem(`${at}.${path}`, unknownTypeProblem(type, outcome.existing)),
      )
    case 'invalid':
      return outcome.problems.map(({ path, message }) => shortProblem(`${at}.${path}`, message))
    case 'running':
      return [shortProblem(`${at}.key`, `names ${outcome.task.id}, which is running`)]
    case 'error':
      return [shortProblem(at, `cannot be published: ${faultOf(outcome.error)}`)]
  }
}

function shortProblem(path: string, message: string): FieldProblem {
  return { path: cut(path, PROBLEM_CHARACTERS_MAX), message: cut(message, PROBLEM_CHARACTERS_MAX) }
}

/** Whether refused callbacks are worth another try: a type has changed since, or their bodies expire soon. */
export function areCallbacksWorthRetrying(task: Task, typesChangedAt: number, now: number): boolean {
  const { owes, unpublished } = task
  if (!owes || !unpublished) return false
  const hasChanged = typesChangedAt + CLOCK_SKEW_MS_MAX >= unpublished.judgedAt
  return hasChanged || bodiesExpiringBefore(task, now + BODY_ALERT_MS).length > 0
}

/** The clocks of the process that judged and of the process that changed a type may differ by this much. */
const CLOCK_SKEW_MS_MAX = 10_000

/** A large result is handed on by reference, so it has to outlive the callbacks that refer to it. */
async function renewResult(system: System, task: Task, children: readonly Task[]): Promise<void> {
  const result = resultOf(task)
  if (!result || !('ref' in result)) return
  const now = system.clock.now()
  const needed = children
    .filter(({ previous }) => previous?.kind === 'result' && previous.ref === result.ref)
    .map(({ dueAt, options }) => bodyExpiry(dueAt, now, options.retentionMs))
  const until = Math.max(...needed)
  if (until - BODY_GRACE_MS > result.expiresAt) await system.tasks.renewBody(task.id, result.ref, until)
}

type StoredCallbacks = {
  readonly onSuccess: readonly PublishRequest[]
  readonly onError: readonly PublishRequest[]
}

/**
 * The publish request of one callback.
 *
 * One birth may end twice, when a flow is resumed; each end has callbacks of its own, and the revision in the key distinguishes them. While
 * a task owes callbacks, nothing changes its revision but the write that records them as published. If a callback stays owed, that write
 * also stores the revision of the end. The fence cannot distinguish two ends, because there may be no run between them.
 *
 * A callback with a key of its own may change a task that exists. That task then names the callback, so a repetition neither changes it
 * again nor creates it after its removal.
 */
function callbackRequest(
  task: Task,
  request: PublishRequest | undefined,
  index: number,
  previous: HandedOn | undefined,
): PublishRequest | undefined {
  if (!request) return undefined
  const { id, born, userId, traceparent, state } = task
  const revision = task.unpublished?.revision ?? task.revision
  const causedBy = `${born}.${revision}.${state === 'succeeded' ? 's' : 'e'}${index}`
  return {
    ...(request.key === undefined ? { once: true as const, key: causedBy } : { causedBy }),
    ...defined({ userId, traceparent }),
    ...request,
    parentId: id,
    ...(previous && { previous }),
  }
}

async function readHandedOn(system: System, task: Task): Promise<HandedOn | undefined> {
  if (task.state !== 'succeeded') {
    const error = await fullError(system, task)
    return { kind: 'value', handOn: 'prepend', value: { error: error as unknown as Json, taskId: task.id } }
  }
  const result = resultOf(task)
  if (!result) return undefined
  if ('inline' in result) return { kind: 'value', handOn: 'append', value: result.inline }
  return { kind: 'result', handOn: 'append', taskId: task.id, ref: result.ref, bytes: result.bytes }
}
