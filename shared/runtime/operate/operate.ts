import { BODY_GRACE_MS, TOMBSTONE_MS } from '../../core/bounds.ts'
import { type Expected, isStale } from '../../core/change.ts'
import { type ResumeAction, type ResumeRefusal, resume } from '../../core/flow/resume.ts'
import { type Clean, cancel, type RestartRefusal, remove, restart } from '../../core/operate/operate.ts'
import { DEFAULT_OPTIONS, type Options } from '../../core/options.ts'
import { isGone, type Publication } from '../../core/publish.ts'
import type { FlowDefinition, FlowState } from '../../core/task/flow-state.ts'
import { type Head, separateBodies } from '../../core/task/head.ts'
import { bodyExpiry, bodyRef, CANVAS_TYPE } from '../../core/task/head-fields.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import { defaultOrdering, shardOf, type TaskType } from '../../core/types/task-type.ts'
import { BatonError, defined } from '../../core/values/values.ts'
import type { TypeStore } from '../../ports/stores.ts'
import { readTask } from '../kernel/heads.ts'
import { transact } from '../kernel/kernel.ts'
import { newTraceparent } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { markFair } from '../place/fair.ts'
import { publishCallbacksOfTask } from '../plan/publish-callbacks.ts'
import { resolveFlow } from '../publish/resolve-flow.ts'
import { type PublicationDraft, withNewBirth } from '../publish/resolve-publication.ts'

export type OperateOutcome<Refusal extends string, H extends Head = Task> =
  | { readonly ok: true; readonly task: H }
  | { readonly ok: false; readonly reason: 'unknown' }
  | { readonly ok: false; readonly reason: Refusal; readonly task: H }

/** Stops the task and keeps its record. Cancelling a cancelled task changes nothing and is not refused. */
export async function cancelTask(
  system: System,
  id: string,
  expected: Expected = {},
): Promise<OperateOutcome<'finished' | 'undoing' | 'stale'>> {
  const decide = asExpected(system, expected, current => cancel(current, system.clock.now()))
  const { decision, head: task } = await transact(system, await readTask(system, id), decide)
  if (!task || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (decision.ok || decision.reason === 'already-cancelled') return { ok: true, task }
  return { ok: false, reason: decision.reason, task }
}

export type RemoveOutcome<H extends Head = Task> =
  | { readonly ok: true }
  | Extract<OperateOutcome<'stale', H>, { ok: false }>

/**
 * Removes the task, even when its head cannot be read and no revision is expected. It never runs again, and readers do not find it
 * any more.
 */
export async function removeTask(
  system: System,
  id: string,
  expected: Expected = {},
): Promise<RemoveOutcome> {
  const reading = readTask(system, id)
  const seen = await (expected.ifRevision === undefined ? readUnlessUnreadable(reading) : reading)
  if (seen === 'unreadable') return (await system.tasks.bury(id, system.clock.now())) ? { ok: true } : UNKNOWN
  const decide = asExpected(system, expected, current => ({
    ok: true as const,
    change: remove(current, system.clock.now()),
  }))
  const { decision, head: task } = await transact(system, seen, decide)
  if (!decision.ok) return task && decision.reason === 'stale' ? { ...decision, task } : UNKNOWN
  if (decision.change.before) await deleteLastingBodies(system, decision.change.before)
  return { ok: true }
}

async function readUnlessUnreadable(
  reading: Promise<Task | undefined>,
): Promise<Task | 'unreadable' | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unreadable') return 'unreadable'
    throw error
  }
}

export async function resumeTask(
  system: System,
  id: string,
  action: ResumeAction,
  expected: Expected = {},
): Promise<OperateOutcome<ResumeRefusal | 'stale'>> {
  const decide = asExpected(system, expected, current => resume(current, action, system.clock.now()))
  const seen = await withoutOwedCallbacks(system, id, expected)
  const { decision, head: task } = await transact(system, seen, decide)
  return outcomeOf(decision, task)
}

/** Starts a finished task over, with its own input and options and a fresh retry budget. */
export async function restartTask(
  system: System,
  id: string,
  clean: Clean = ['failed', 'succeeded'],
  expected: Expected = {},
): Promise<OperateOutcome<RestartRefusal | 'stale'>> {
  const seen = await withoutOwedCallbacks(system, id, expected)
  if (!isPresent(system, seen)) return UNKNOWN
  if (isStale(seen, expected)) return { ...STALE, task: seen }
  const draft = await republication(system, seen)
  const decide = asExpected(system, expected, current => {
    const publication = { ...withNewBirth(system, draft), ...kept(current) }
    return restart(current, { publication, clean, keepInput: true }, system.clock.now())
  })
  const { decision, head: task } = await transact(system, seen, decide)
  return outcomeOf(decision, task)
}

/** Publishes the callbacks that a task of the expected revision owes, before it opens again. Returns the head after that. */
async function withoutOwedCallbacks(
  system: System,
  id: string,
  expected: Expected,
): Promise<Task | undefined> {
  const head = await readTask(system, id)
  if (!head?.owes || isStale(head, expected)) return head
  await publishCallbacksOfTask(system, head)
  return readTask(system, id)
}

/** Tries again to publish the callbacks that an ended task owes. This is not an edit: it changes nothing that a caller can set. */
export async function retryCallbacks(
  system: System,
  id: string,
  expected: Expected = {},
): Promise<OperateOutcome<'owes-nothing' | 'owes' | 'stale'>> {
  const seen = await readTask(system, id)
  if (!isPresent(system, seen)) return UNKNOWN
  if (isStale(seen, expected)) return { ...STALE, task: seen }
  if (!seen.owes) return { ok: false, reason: 'owes-nothing', task: seen }
  await publishCallbacksOfTask(system, seen)
  const task = await readTask(system, id)
  // The task may be gone now: past its retention, it was kept only for its callbacks.
  if (!task || task.state === 'removed') return UNKNOWN
  return task.owes ? { ok: false, reason: 'owes', task } : { ok: true, task }
}

/** The publication of a restart: kind, order, shard and steps of the type as it is now; the task keeps the rest. */
async function republication(system: System, task: Task): Promise<PublicationDraft> {
  const { types, clock, chance } = system
  const now = clock.now()
  const stored = await types.get(task.type)
  // The type may have other steps by now, whose types are not marked as fair yet.
  if (stored && task.fairnessKey !== undefined) await markFair(system, name => types.get(name), stored)
  const flow = stored && (await currentSteps(types, stored, task))
  // A task of another kind does not become a flow whose steps cannot be resolved, since nothing could run it.
  const configuration = stored?.configuration.kind === 'flow' && !flow ? undefined : stored?.configuration
  const { type, key } = task
  return {
    type,
    key,
    kind: configuration?.kind ?? task.kind,
    ordering: configuration ? (configuration.ordering ?? defaultOrdering(configuration.kind)) : task.ordering,
    shard: configuration ? shardOf(task.id, configuration) : task.shard,
    dueAt: now,
    traceparent: task.traceparent ?? newTraceparent(chance),
    ...(stored?.isFair && task.fairnessKey === undefined && { isFair: true as const }),
    ...kept(task),
    ...(flow && { flow }),
  }
}

/** The steps as their types define them now; steps that cannot be resolved stay as they were. */
async function currentSteps(
  types: TypeStore,
  type: TaskType,
  task: Task,
): Promise<FlowDefinition | undefined> {
  if (type.configuration.kind !== 'flow') return undefined
  const resolved = await resolveFlow(name => types.get(name), type)
  return resolved.ok ? resolved.definition : task.flow?.definition
}

/** The options, priority and owner of the task as it is now: a patch may have changed them since the republication was prepared. */
function kept(task: Task): Pick<Publication, 'options' | 'priority'> {
  const { options, priority, fairnessKey, userId, tags, flow } = task
  return {
    options: flow ? optionsOfFlow(options, flow) : options,
    priority,
    ...defined({ fairnessKey, userId, tags }),
  }
}

/** The options of a flow as a whole, without the options of its present step. */
function optionsOfFlow({ retentionMs }: Options, { deadlineMs }: FlowState): Options {
  return { ...DEFAULT_OPTIONS, retentionMs, ...(deadlineMs !== undefined && { deadlineMs }) }
}

/** There is no such task, or readers do not find it any more. */
export const UNKNOWN = { ok: false, reason: 'unknown' } as const

/** A person has changed the task since the caller read it. */
export const STALE = { ok: false, reason: 'stale' } as const

/** The decision about a task that readers can find and that has the expected revision, for `transact`. */
export function asExpected<Decided>(
  system: System,
  expected: Expected,
  decide: (task: Task) => Decided,
): (current: Task | undefined) => Decided | typeof UNKNOWN | typeof STALE {
  return current => {
    if (!isPresent(system, current)) return UNKNOWN
    const { isStill = () => true } = expected
    return isStale(current, expected) || !isStill(current) ? STALE : decide(current)
  }
}

export function isPresent(system: System, task: Task | undefined): task is Task {
  return task !== undefined && !isGone(task, system.clock.now())
}

/** The outcome of an operation, from its decision and the head that was written. */
export function outcomeOf<Refusal extends string>(
  decision: { ok: true } | { ok: false; reason: Refusal | 'unknown' },
  task: Task | undefined,
): OperateOutcome<Refusal> {
  if (!task || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (decision.ok) return { ok: true, task }
  return { ok: false, reason: decision.reason as Refusal, task }
}

/** The tasks without ended ones that are `going` and that open canvases need: their results are handed on to members that are still to come. */
export async function withoutNeeded(
  { tasks: store }: Pick<System, 'tasks'>,
  tasks: readonly Task[],
  isGoing: (task: Task) => boolean,
): Promise<readonly Task[]> {
  const ended = tasks.filter(task => task.member && task.state !== 'open' && isGoing(task))
  const ids = new Set(ended.map(({ member }) => taskId(CANVAS_TYPE, member?.canvasId ?? '')))
  const canvases = ids.size > 0 ? await store.heads([...ids]) : []
  const open = new Set(canvases.filter(({ state }) => state === 'open').map(({ born }) => born))
  return tasks.filter(task => !(ended.includes(task) && open.has(task.member?.born ?? '')))
}

/**
 * Bodies and run records that expire within this time are left to DynamoDB, which deletes them free of charge.
 * That covers a task with the default retention that is due within a week. Deleting costs a write unit per KB.
 */
const LEFT_TO_TTL_MS_MAX = TOMBSTONE_MS + BODY_GRACE_MS
/** A task has more records than this only with thousands of retries. */
const RECORDS_MAX = 1_000

/**
 * Deletes the bodies and run records of a removed task that would otherwise stay for months or years, such as
 * the input of a task due in ten years. A process that dies between the removal and this leaves them to expire
 * at their own time. `task` is the task before its removal.
 */
export async function deleteLastingBodies({ tasks, clock }: System, task: Task): Promise<void> {
  const until = clock.now() + LEFT_TO_TTL_MS_MAX
  const lasting = separateBodies(task).filter(({ expiresAt }) => expiresAt > until)
  const dropped = [...lasting, ...(await lastingRecords(tasks, task, until))]
  if (dropped.length > 0) await tasks.dropBodies(task.id, dropped)
}

/** Run records are listed nowhere but under their own keys. */
async function lastingRecords(
  tasks: System['tasks'],
  task: Task,
  until: number,
): Promise<Array<{ readonly ref: string }>> {
  const { id, born, firstBorn = born, fence, dueAt, updatedAt, options } = task
  if (fence === 0 || bodyExpiry(dueAt, updatedAt, options.retentionMs) <= until) return []
  const records = await tasks.runRecords(id, firstBorn, RECORDS_MAX)
  return records.map(record => ({ ref: bodyRef.run(record.born, record.fence) }))
}
