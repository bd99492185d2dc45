import { bodyExpiry, bodyOf, bodyRef } from './body.ts'
import { type BodyWrite, type Decision, refuse, revise } from './change.ts'
import { endRuns, runRecord } from './end-runs.ts'
import type { Json } from './json.ts'
import { type Options, type PartialOptions, resolveOptions } from './options.ts'
import { settled } from './settle.ts'
import { liveRuns, type Task } from './task.ts'

/** Changes to an open task; what is not named stays. */
export type Patch = {
  readonly dueAt?: number
  readonly priority?: number
  readonly input?: Json
  readonly tags?: Readonly<Record<string, string>>
  readonly options?: PartialOptions
}

export type PatchRefusal = 'finished' | 'too-few-workers'

/**
 * Applies a patch. Live runs of workers that the new `workerIds` leave out end cancelled, with no retry counted; a new
 * heartbeat interval reaches a run with its next heartbeat, all else the runs claimed afterwards. Success by a lowered
 * `concurrency` finishes the task.
 */
export function patch(task: Task, changes: Patch, now: number): Decision<PatchRefusal> {
  if (task.state !== 'open') return refuse('finished')
  const options = resolveOptions(task.options, changes.options ?? {})
  if (options.workerIds.length > 0 && options.workerIds.length < options.concurrency)
    return refuse('too-few-workers')
  const bodies: BodyWrite[] = []
  const edited = withInput(
    { ...task, ...plainEdits(task, changes, options), operation: 'patch' },
    changes,
    bodies,
    now,
  )
  const draft = withoutExcluded(edited, bodies, now)
  return revise(task, settled(draft, now), now, { bodies })
}

function plainEdits(task: Task, changes: Patch, options: Options): Partial<Task> {
  const dueAt = changes.dueAt ?? task.dueAt
  return {
    options,
    live: keepingLeases(task, options),
    dueAt,
    retrying: changes.dueAt === undefined && task.retrying,
    ...(changes.priority !== undefined && { priority: changes.priority }),
    ...(changes.tags !== undefined && { tags: changes.tags }),
    ...deadlineEdit(task, changes, options),
  }
}

/** Live runs keep the lease they were claimed with. */
function keepingLeases({ live, options: { leaseMs } }: Task, next: Options): Task['live'] {
  if (next.leaseMs === leaseMs) return live
  return Object.fromEntries(Object.entries(live).map(([fence, run]) => [fence, { leaseMs, ...run }]))
}

/** A deadline counts from the due time: a new due time moves it, a new length changes its end. */
function deadlineEdit(task: Task, changes: Patch, options: Options): Partial<Task> {
  if (options.deadlineMs === undefined) return {}
  if (changes.dueAt !== undefined) return { deadlineAt: changes.dueAt + options.deadlineMs }
  const start =
    task.deadlineAt !== undefined && task.options.deadlineMs !== undefined
      ? task.deadlineAt - task.options.deadlineMs
      : (task.startedAt ?? task.dueAt)
  return { deadlineAt: start + options.deadlineMs }
}

function withInput(draft: Task, changes: Patch, bodies: BodyWrite[], now: number): Task {
  if (changes.input === undefined) return draft
  const expiry = bodyExpiry(draft.dueAt, now, draft.options.retentionMs)
  const { body, writes } = bodyOf(
    changes.input,
    bodyRef.input(draft.born, draft.revision + 1, changes.input),
    expiry,
  )
  bodies.push(...writes)
  return { ...draft, input: body }
}

function withoutExcluded(draft: Task, bodies: BodyWrite[], now: number): Task {
  const { workerIds } = draft.options
  if (workerIds.length === 0) return draft
  const excluded = liveRuns(draft).filter(run => !workerIds.includes(run.workerId))
  const ending = { state: 'cancelled' as const, cause: 'excluded' as const }
  for (const run of excluded) bodies.push(...runRecord(draft, run.fence, ending, now))
  return {
    ...draft,
    ...endRuns(
      draft,
      excluded.map(run => String(run.fence)),
      ending,
      now,
    ),
  }
}
