import { BODY_GRACE_MS } from '../../core/bounds.ts'
import { type FieldProblem, isOutage } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { recordCallbacksPublished, recordUnpublishable } from '../../core/operate/operate.ts'
import type { HandedOn } from '../../core/publish/publish.ts'
import { unknownTypeProblem } from '../../core/rules/nearest.ts'
import { bodiesExpiringBefore, bodyExpiry, cut } from '../../core/task/body.ts'
import { resultOf } from '../../core/task/result.ts'
import type { Callbacks, Task, Unpublished } from '../../core/task/task.ts'
import { fullError } from '../kernel/full-error.ts'
import { faultOf, type PlanFailure } from '../kernel/isolate-faults.ts'
import { transact } from '../kernel/kernel.ts'
import { BODY_ALERT_MS, bodyValue } from '../kernel/living-bodies.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import type { PublishRequest } from '../publish/publication-of.ts'
import { type PublishOutcome, publishMany } from '../publish/publish.ts'

/** Each publishes its callbacks side by side, too. */
const MOST_AT_ONCE = 10

/**
 * Publishes what the ends of these tasks owe, and notes that it is done. The head is read once more before: a stream that
 * is read again, long after, must not bring back callbacks whose own time is over. Dying between any two writes is
 * harmless: a callback's key follows from the task whose end it is, so publishing it twice creates it once.
 */
export async function publishOwedCallbacks(system: System, tasks: readonly Task[]): Promise<PlanFailure[]> {
  const failures = await sideBySide(tasks, MOST_AT_ONCE, async task => {
    try {
      await publishTaskCallbacks(system, task)
      return []
    } catch (error) {
      const transient = isOutage(error)
      return [{ id: task.id, reason: String(error), transient }]
    }
  })
  return failures.flat()
}

/**
 * As `settleDebts`, of one. What is refused for what it is stays owed: the head says why, which is told when it reaches the
 * planner, and later tries are about these callbacks alone.
 *
 * @throws whatever kept a callback from being published.
 */
export async function publishTaskCallbacks(
  system: System,
  { id, born }: Pick<Task, 'id' | 'born'>,
): Promise<void> {
  const head = await system.tasks.head(id)
  if (!head?.owes || head.born !== born) return
  const unpublished = head.callbacks && (await publishCallbacks(system, head, head.callbacks))
  // Settled by another, taken up again and ended once more meanwhile, it owes anew, which nobody has published yet.
  await transact(system, head, current => {
    if (current?.born !== born || current.revision !== head.revision) return GONE
    const now = system.clock.now()
    return unpublished
      ? recordUnpublishable(current, unpublished, now)
      : recordCallbacksPublished(current, now)
  })
}

const GONE = { ok: false, reason: 'gone' } as const

/** Publishes what is owed still; answers what of it cannot be published. */
async function publishCallbacks(
  system: System,
  task: Task,
  { body }: Callbacks,
): Promise<Unpublished | undefined> {
  const judgedAt = system.clock.now()
  const stored = (await bodyValue(system, task.id, body)) as StoredCallbacks | undefined
  const when = task.state === 'succeeded' ? 'onSuccess' : 'onError'
  const requests = stored?.[when] ?? []
  const indices = task.unpublished?.indices ?? [...requests.keys()]
  const previous = await handedOn(system, task)
  const outcomes = await publishMany(
    system,
    indices.flatMap(index => childOf(task, requests[index], index, previous) ?? []),
  )
  await keepResult(
    system,
    task,
    outcomes.flatMap(outcome => (outcome.ok ? outcome.task : [])),
  )
  const problems = indices.flatMap((index, nth) => problemsOf(outcomes[nth], `${when}.${index}`))
  const refused = indices.filter((_index, nth) => outcomes[nth]?.ok === false)
  if (refused.length === 0) return undefined
  const revision = task.unpublished?.revision ?? task.revision
  return { indices: refused, problems: problems.slice(0, PROBLEMS_MOST), judgedAt, revision }
}

/** Of a head, which has room for little. */
const PROBLEMS_MOST = 3
const PROBLEM_CHARACTERS_MAX = 300

/**
 * Held against its type when the task was published: a type that has changed since can make it impossible, and so can what
 * is stored, or is to be.
 *
 * @throws what is not about this callback alone.
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

/** Whether what could not be published may be possible by now, or its bodies would expire before it is tried again. */
export function areCallbacksWorthRetrying(task: Task, typesChangedAt: number, now: number): boolean {
  const { owes, unpublished } = task
  if (!owes || !unpublished) return false
  const hasChanged = typesChangedAt + CLOCKS_APART_MS >= unpublished.judgedAt
  return hasChanged || bodiesExpiringBefore(task, now + BODY_ALERT_MS).length > 0
}

/** The clocks of the process that judged and of the one that changed a type may differ by so much. */
const CLOCKS_APART_MS = 10_000

/** A large result is handed on where it is: it has to outlive those that it was handed to. */
async function keepResult(system: System, task: Task, children: readonly Task[]): Promise<void> {
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
 * Of two ends of one birth (a flow that was taken up again) each has callbacks of its own. Their revisions tell them apart:
 * nothing revises what owes but the settling itself, which keeps the end's own revision where something stays owed; and
 * there may be no run, so no new fence, between two ends.
 */
function childOf(
  task: Task,
  request: PublishRequest | undefined,
  index: number,
  previous: HandedOn | undefined,
): PublishRequest | undefined {
  if (!request) return undefined
  const { id, born, userId, traceparent, state } = task
  const revision = task.unpublished?.revision ?? task.revision
  return {
    ...(request.key === undefined && { once: true as const }),
    key: `${born}.${revision}.${state === 'succeeded' ? 's' : 'e'}${index}`,
    ...(userId !== undefined && { userId }),
    ...(traceparent !== undefined && { traceparent }),
    ...request,
    parentId: id,
    ...(previous && { previous }),
  }
}

async function handedOn(system: System, task: Task): Promise<HandedOn | undefined> {
  if (task.state !== 'succeeded') {
    const error = await fullError(system, task)
    return { kind: 'value', handOn: 'prepend', value: { error: error as unknown as Json, taskId: task.id } }
  }
  const result = resultOf(task)
  if (!result) return undefined
  if ('inline' in result) return { kind: 'value', handOn: 'append', value: result.inline }
  return { kind: 'result', handOn: 'append', taskId: task.id, ref: result.ref, bytes: result.bytes }
}
