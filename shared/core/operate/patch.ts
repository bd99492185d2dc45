import { type BodyWrite, type Decision, endRuns, refuse, revise, runRecord } from '../change.ts'
import { openStage, withDeadline } from '../flow/pieces.ts'
import { type Options, type PartialOptions, resolveOptions } from '../options.ts'
import { withInput } from '../run/finish.ts'
import { judgeBudget } from '../run/judge-budget.ts'
import type { FlowState } from '../task/flow-state.ts'
import { liveRuns, type Task } from '../task/task.ts'
import { defined, type Json } from '../values/values.ts'
import { delaysWorkerAlone } from '../worker.ts'

/** Changes to an open task. Members that are left out stay as they are. */
export type Patch = {
  readonly dueAt?: number
  readonly priority?: number
  readonly input?: Json
  /** Null removes all tags. */
  readonly tags?: Readonly<Record<string, string>> | null
  readonly stage?: string
  /** Options that replace single options of the task. */
  readonly options?: PartialOptions
  /** Options that replace all options of the task. */
  readonly allOptions?: Options
  /** Removes the deadline of a whole flow. */
  readonly removesDeadline?: true
}

export type PatchRefusal = 'finished' | 'too-few-workers' | 'a-flow'

/**
 * Applies a patch. The live run of a worker that the new `workerIds` omit ends cancelled, which costs no retry. A run learns of a
 * new heartbeat interval at its next heartbeat. All other options apply to runs claimed afterwards. A lowered `concurrency` may end
 * the task as succeeded.
 */
export function patch(task: Task, changes: Patch, now: number): Decision<PatchRefusal> {
  if (task.state !== 'open') return refuse('finished')
  if (task.flow && changes.stage !== undefined) return refuse('a-flow')
  const options = optionsAfter(task, changes)
  if (options.workerIds.length > 0 && options.workerIds.length < options.concurrency)
    return refuse('too-few-workers')
  const bodies: BodyWrite[] = []
  const fields = {
    ...withoutRemoved(task, changes, options),
    ...fieldEdits(task, changes, options),
    operation: 'patch' as const,
  }
  const edited = withNewInput(changes.removesDeadline ? withDeadline(fields) : fields, changes, bodies, now)
  const draft = withoutExcludedRuns(withStage(edited, changes, bodies, now), bodies, now)
  return revise(task, judgeBudget(draft, now), now, { bodies })
}

/** The draft in the patched stage, which begins afresh. It does not wait for a retry of the former stage. Live runs end cancelled. */
function withStage(draft: Task, { stage }: Patch, bodies: BodyWrite[], now: number): Task {
  if (stage === undefined || stage === draft.stage) return draft
  for (const run of liveRuns(draft)) bodies.push(runRecord(draft, run, { state: 'cancelled' }, now))
  const dueAt = draft.retrying ? Math.min(draft.dueAt, now) : draft.dueAt
  return openStage(draft, { stage, dueAt }, now)
}

/** The options after the patch. A flow's head has the options of its present step; only the retention is the flow's own. */
function optionsAfter(task: Task, { options = {}, allOptions }: Patch): Options {
  if (!task.flow) return allOptions ?? resolveOptions(task.options, options)
  return { ...task.options, retentionMs: options.retentionMs ?? task.options.retentionMs }
}

/** The task without the tags and the deadline that the patch removes. */
function withoutRemoved(task: Task, { tags }: Patch, { deadlineMs }: Options): Task {
  const { tags: _tags, ...untagged } = task
  const draft: Task = tags === null ? untagged : task
  if (deadlineMs !== undefined || draft.flow) return draft
  const { deadlineAt: _deadlineAt, ...withoutDeadline } = draft
  return withoutDeadline
}

function fieldEdits(task: Task, changes: Patch, options: Options): Partial<Task> {
  const dueAt = changes.dueAt ?? task.dueAt
  return {
    options,
    live: withLeaseLengths(task, options),
    dueAt,
    retrying: changes.dueAt === undefined && task.retrying,
    ...((changes.dueAt !== undefined || !delaysWorkerAlone(options)) && { retryAtBy: {} }),
    ...(changes.priority !== undefined && { priority: changes.priority }),
    ...(changes.tags && { tags: changes.tags }),
    ...(task.flow ? flowDeadlineEdit(task, task.flow, changes) : deadlineEdit(task, changes, options)),
  }
}

/** Live runs keep the lease length of their claim. */
function withLeaseLengths({ live, options: { leaseMs } }: Task, next: Options): Task['live'] {
  if (next.leaseMs === leaseMs) return live
  return Object.fromEntries(Object.entries(live).map(([fence, run]) => [fence, { leaseMs, ...run }]))
}

/**
 * A deadline counts from the due time. A new due time moves it, and a new length changes its end. The first deadline of a task that
 * has already run counts from its first run.
 */
function deadlineEdit(task: Task, { dueAt }: Patch, { deadlineMs }: Options): Partial<Task> {
  if (deadlineMs === undefined) return {}
  const { deadlineAt, options } = task
  return { deadlineAt: (dueAt ?? deadlineStart(task, deadlineAt, options.deadlineMs)) + deadlineMs }
}

/** The time from which the former deadline counts, or a first one would count. */
function deadlineStart({ startedAt, dueAt }: Task, endsAt: number | undefined, lastsMs: number | undefined) {
  return endsAt !== undefined && lastsMs !== undefined ? endsAt - lastsMs : (startedAt ?? dueAt)
}

/** The deadline of a flow counts for all its `do` steps together. The options hold the deadline of the present step. */
function flowDeadlineEdit(
  task: Task,
  flow: FlowState,
  { dueAt, options, removesDeadline }: Patch,
): Partial<Task> {
  const { deadlineMs: _deadlineMs, deadlineAt: _deadlineAt, ...withoutDeadline } = flow
  if (removesDeadline) return { flow: withoutDeadline }
  const deadlineMs = options?.deadlineMs ?? flow.deadlineMs
  if (deadlineMs === undefined) return {}
  const start = dueAt ?? deadlineStart(task, flow.deadlineAt, flow.deadlineMs)
  const edited = withDeadline({ ...task, flow: { ...flow, deadlineMs, deadlineAt: start + deadlineMs } })
  return defined({ flow: edited.flow, deadlineAt: edited.deadlineAt })
}

function withNewInput(draft: Task, { input }: Patch, bodies: BodyWrite[], now: number): Task {
  if (input === undefined) return draft
  const changed = withInput(draft, input, now)
  bodies.push(...changed.bodies)
  return changed.draft
}

function withoutExcludedRuns(draft: Task, bodies: BodyWrite[], now: number): Task {
  const { workerIds } = draft.options
  if (workerIds.length === 0) return draft
  const excluded = liveRuns(draft).filter(run => !workerIds.includes(run.workerId))
  const ending = { state: 'cancelled' as const, cause: 'excluded' as const }
  for (const run of excluded) bodies.push(runRecord(draft, run, ending, now))
  return { ...draft, ...endRuns(draft, excluded, ending, now) }
}
