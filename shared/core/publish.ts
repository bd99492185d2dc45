import { bodyExpiry, bodyOf, bodyRef } from './body.ts'
import { type BodyWrite, type Change, type Decision, refuse, revise } from './change.ts'
import type { Json } from './json.ts'
import type { Options } from './options.ts'
import { indexed } from './place.ts'
import { settled } from './settle.ts'
import { liveRuns, type Ordering, type Task, type TypeKind, taskId } from './task.ts'

/** What a publish asks for, all defaults resolved. */
export type Publication = {
  readonly type: string
  readonly key: string
  readonly kind: TypeKind
  readonly ordering: Ordering
  readonly born: string
  readonly shard: number
  readonly dueAt: number
  readonly priority: number
  readonly options: Options
  readonly input?: Json
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly traceparent?: string
}

/** A task whose retention has ended counts as gone, though DynamoDB takes days to delete it. */
export function isGone(task: Task | undefined, now: number): boolean {
  return (
    task === undefined || task.state === 'removed' || (task.expiresAt !== undefined && task.expiresAt <= now)
  )
}

/** Brings a task into being where none is, or over the remains of one that is gone. Guard: absent, or those remains. */
export function create(publication: Publication, remains: Task | undefined, now: number): Change {
  const revision = (remains?.revision ?? 0) + 1
  const { task, bodies } = newborn(
    publication,
    { revision, fence: remains?.fence ?? 0, operation: 'publish' },
    now,
  )
  if (remains) return revise(remains, task, now, { bodies }).change
  return { before: undefined, after: indexed(task, now), guard: { kind: 'absent' }, bodies }
}

/** The draft a birth begins with. A key's later births go on counting revisions and fences. */
export function newborn(
  publication: Publication,
  start: Pick<Task, 'revision' | 'fence' | 'operation'>,
  now: number,
): { task: Task; bodies: BodyWrite[] } {
  const { input, ...rest } = publication
  const { deadlineMs, retentionMs } = publication.options
  const expiry = bodyExpiry(publication.dueAt, now, retentionMs)
  const body =
    input === undefined
      ? undefined
      : bodyOf(input, bodyRef.input(publication.born, start.revision, input), expiry)
  const task: Task = {
    ...rest,
    ...start,
    id: taskId(publication.type, publication.key),
    state: 'open',
    retrying: false,
    live: {},
    ended: {},
    failures: 0,
    failuresBy: {},
    createdAt: now,
    updatedAt: now,
    ...(body && { input: body.body }),
    ...(deadlineMs !== undefined && { deadlineAt: publication.dueAt + deadlineMs }),
  }
  return { task, bodies: body?.writes ?? [] }
}

/**
 * `ifExists: update`: input, due time and options of a task that is neither running nor finished become those of
 * `publication`; who it is (user, trace, creation) stays, and so does what its runs have done: a lowered `concurrency`
 * or budget may end it. Refused otherwise.
 */
export function update(task: Task, publication: Publication, now: number): Decision<'running' | 'finished'> {
  if (task.state !== 'open') return refuse('finished')
  if (liveRuns(task).length > 0) return refuse('running')
  const start = { revision: task.revision + 1, fence: task.fence, operation: 'update' as const }
  const { task: fresh, bodies } = newborn({ ...publication, born: task.born, shard: task.shard }, start, now)
  const draft: Task = {
    ...fresh,
    createdAt: task.createdAt,
    ended: task.ended,
    failures: task.failures,
    failuresBy: task.failuresBy,
    ...(task.userId !== undefined && { userId: task.userId }),
    ...(task.traceparent !== undefined && { traceparent: task.traceparent }),
    ...(task.startedAt !== undefined && { startedAt: task.startedAt }),
    ...(task.error !== undefined && { error: task.error }),
  }
  return revise(task, settled(draft, now), now, { bodies })
}
