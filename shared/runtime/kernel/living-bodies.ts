import type { Change } from '../../core/change/change.ts'
import { BatonError } from '../../core/errors.ts'
import { type Body, bodyExpiry } from '../../core/task/body.ts'
import { bodiesExpiringBefore, type Head, withBodies } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import type { Json } from '../../core/values/json.ts'
import type { TaskStore } from '../../ports/stores.ts'
import type { System } from './system.ts'

/** A body of an open task is renewed when it would expire within this time, or within the task's retention. */
export const BODY_ALERT_MS = 7 * 86_400_000

/**
 * The change, with bodies that live as long as the head relies on them. A body that would expire earlier is renewed first:
 * for example after a restart late in the retention, or a due time moved by years. Heartbeats and counted successes are
 * left as they are, since they write one run only and do not prolong the task.
 */
export async function withLivingBodies(tasks: TaskStore, change: Change): Promise<Change> {
  const { after, guard } = change
  const isOfOneRun = guard.kind === 'live' || guard.kind === 'counted'
  if (isOfOneRun || after.operation === 'beat' || after.state === 'removed') return change
  const ageing = bodiesExpiringBefore(after, reliedOnUntil(after))
  if (ageing.length === 0) return change
  const expiresAt = bodyExpiry(after.dueAt, after.updatedAt, after.options.retentionMs)
  await Promise.all(ageing.map(({ ref }) => tasks.renewBody(after.id, ref, expiresAt)))
  return { ...change, after: withExpiry(after, new Set(ageing.map(({ ref }) => ref)), expiresAt) }
}

function reliedOnUntil({ state, dueAt, updatedAt, options, expiresAt }: Head): number {
  if (state !== 'open') return expiresAt ?? updatedAt
  return Math.max(dueAt, updatedAt) + Math.max(options.retentionMs, BODY_ALERT_MS)
}

function withExpiry(head: Head, refs: ReadonlySet<string>, expiresAt: number): Head {
  return withBodies(head, body => ('ref' in body && refs.has(body.ref) ? { ...body, expiresAt } : body))
}

/** The value of a body of the task. Undefined when the body is stored apart from the head and has expired. */
export async function bodyValue(
  { tasks }: Pick<System, 'tasks'>,
  taskId: string,
  body: Body,
): Promise<Json | undefined> {
  return 'inline' in body ? body.inline : tasks.body(taskId, body.ref)
}

/** A transaction may be sent again up to ten minutes after its entries were made. The rest is for clocks that differ. */
const BODY_MAY_FOLLOW_MS = 15 * 60_000

/**
 * The value of a body that the task was published with. Undefined when it has expired.
 *
 * @throws BatonError `unavailable` when it is missing and the task is young. A task may be published within a transaction of a
 * user, and DynamoDB makes the items of a transaction visible one after the other. So the body may still follow its head.
 */
export async function publishedBody(
  system: Pick<System, 'tasks' | 'clock'>,
  { id, createdAt }: Pick<Task, 'id' | 'createdAt'>,
  body: Body,
): Promise<Json | undefined> {
  const value = await bodyValue(system, id, body)
  if (value === undefined && system.clock.now() < createdAt + BODY_MAY_FOLLOW_MS) {
    throw new BatonError('unavailable', `an item of ${id} is not stored yet; try again in a moment`)
  }
  return value
}
