import { bodyExpiry } from '../core/body.ts'
import { isOutage } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { BODY_GRACE_MS } from '../core/limits.ts'
import { settle } from '../core/operate.ts'
import type { HandedOn } from '../core/publish.ts'
import { resultOf } from '../core/result.ts'
import type { Callbacks, Task } from '../core/task.ts'
import { bodyValue } from './body-value.ts'
import { fullError } from './full-error.ts'
import { logFields } from './log-fields.ts'
import type { PlanFailure } from './plan-tasks.ts'
import type { PublishRequest } from './publication-of.ts'
import { publishMany } from './publish.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { transact } from './transact.ts'

/** Each publishes its callbacks side by side, too. */
const MOST_AT_ONCE = 10

/**
 * Publishes what the ends of these tasks owe, and notes that it is done. The head is read once more before: a stream that
 * is read again, long after, must not bring back callbacks whose own time is over. Dying between any two writes is
 * harmless: a callback's key follows from the task whose end it is, so publishing it twice creates it once.
 */
export async function settleDebts(system: System, tasks: readonly Task[]): Promise<PlanFailure[]> {
  const failures = await sideBySide(tasks, MOST_AT_ONCE, async task => {
    try {
      await settleTask(system, task)
      return []
    } catch (error) {
      const transient = isOutage(error)
      return [{ id: task.id, reason: String(error), transient }]
    }
  })
  return failures.flat()
}

/** As `settleDebts`, of one. @throws whatever kept a callback from being published. */
export async function settleTask(system: System, { id, born }: Task): Promise<void> {
  const head = await system.tasks.head(id)
  if (!head?.owes || head.born !== born) return
  if (head.callbacks) await publishCallbacks(system, head, head.callbacks)
  // Settled by another, taken up again and ended once more meanwhile, it owes anew, which nobody has published yet.
  await transact(system, head, current =>
    current?.born === born && current.revision === head.revision
      ? settle(current, system.clock.now())
      : { ok: false as const, reason: 'gone' as const },
  )
}

async function publishCallbacks(system: System, task: Task, { body }: Callbacks): Promise<void> {
  const stored = (await bodyValue(system, task.id, body)) as StoredCallbacks | undefined
  const requests = stored?.[task.state === 'succeeded' ? 'onSuccess' : 'onError'] ?? []
  const previous = await handedOn(system, task)
  const outcomes = await publishMany(
    system,
    requests.map((request, index) => childOf(task, request, index, previous)),
  )
  await keepResult(
    system,
    task,
    outcomes.flatMap(outcome => (outcome.ok ? outcome.task : [])),
  )
  for (const outcome of outcomes) {
    if (outcome.ok) continue
    if (outcome.reason === 'error') throw outcome.error
    // Held against its type when the task was published: only a type that has changed since can make it impossible.
    system.log.error('a callback cannot be published any more', { ...logFields(task), outcome })
  }
}

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
 * nothing revises what owes but the settling itself, and there may be no run, so no new fence, between two ends.
 */
function childOf(
  task: Task,
  request: PublishRequest,
  index: number,
  previous: HandedOn | undefined,
): PublishRequest {
  const { id, born, revision, userId, traceparent, state } = task
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
