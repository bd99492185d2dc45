/**
 * What people and programs do with a task that is there: cancel, remove, resume, restart and patch it, and publish again
 * the callbacks that it owes. Each operation decides on the head and writes through `transact`; the bodies of a removed
 * task are deleted after it.
 */

import type { Change } from '../../core/change/change.ts'
import { BatonError, type FieldProblem } from '../../core/errors.ts'
import { type ResumeAction, type ResumeRefusal, resume } from '../../core/flow/resume.ts'
import { cancel, remove } from '../../core/operate/operate.ts'
import { type Patch, patch } from '../../core/operate/patch.ts'
import { type Clean, type RestartRefusal, restart } from '../../core/operate/restart.ts'
import { clears, type PatchedOptions, patchedOptions } from '../../core/options/cleared-options.ts'
import { DEFAULT_OPTIONS, type Options } from '../../core/options/options.ts'
import { isGone, type Publication } from '../../core/publish/publish.ts'
import { flowOptionProblems } from '../../core/rules/type-configuration.ts'
import type { FlowDefinition, FlowState } from '../../core/task/flow-state.ts'
import type { Task } from '../../core/task/task.ts'
import {
  defaultOrdering,
  shardOf,
  type TaskType,
  type TypeConfiguration,
} from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook-url.ts'
import type { TypeStore } from '../../ports/stores.ts'
import { markFair } from '../fair/mark-fair.ts'
import { transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { newTraceparent } from '../kernel/traceparent.ts'
import { publishTaskCallbacks } from '../plan/publish-callbacks.ts'
import { type PublicationDraft, typeOptions, withNewBirth } from '../publish/publication-of.ts'
import { flowInputProblems, resolveFlow } from '../publish/resolve-flow.ts'
import { deleteLastingBodies } from './drop-bodies.ts'

export type OperateOutcome<Refusal extends string> =
  | { readonly ok: true; readonly task: Task }
  | { readonly ok: false; readonly reason: 'unknown' }
  | { readonly ok: false; readonly reason: Refusal; readonly task: Task }

/** Stops the task and keeps its record. Cancelling a cancelled task changes nothing and is no refusal. */
export async function cancelTask(
  system: System,
  id: string,
): Promise<OperateOutcome<'finished' | 'undoing'>> {
  const { decision, task } = await transact(system, await system.tasks.head(id), current =>
    isHere(system, current) ? cancel(current, system.clock.now()) : UNKNOWN,
  )
  if (!task || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (decision.ok || decision.reason === 'already-cancelled') return { ok: true, task }
  return { ok: false, reason: decision.reason, task }
}

/** Removes the task, also one that cannot be read: it never runs again and is gone for readers at once. */
export async function removeTask(
  system: System,
  id: string,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: 'unknown' }> {
  const seen = await readable(system.tasks.head(id))
  if (seen === 'unreadable') return (await system.tasks.bury(id, system.clock.now())) ? { ok: true } : UNKNOWN
  const { decision } = await transact(system, seen, current =>
    isHere(system, current) ? { ok: true as const, change: remove(current, system.clock.now()) } : UNKNOWN,
  )
  if (!decision.ok) return UNKNOWN
  if (decision.change.before) await deleteLastingBodies(system, decision.change.before)
  return { ok: true }
}

async function readable(reading: Promise<Task | undefined>): Promise<Task | 'unreadable' | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unreadable') return 'unreadable'
    throw error
  }
}

/** Takes a failed flow up again, as a person decides. */
export async function resumeTask(
  system: System,
  id: string,
  action: ResumeAction,
): Promise<OperateOutcome<ResumeRefusal>> {
  const { decision, task } = await transact(system, await withoutOwedCallbacks(system, id), current =>
    isHere(system, current) ? resume(current, action, system.clock.now()) : UNKNOWN,
  )
  return operated(decision, task)
}

/** Starts a finished task over, with its own input and options and a fresh retry budget. */
export async function restartTask(
  system: System,
  id: string,
  clean: Clean = ['failed', 'succeeded'],
): Promise<OperateOutcome<RestartRefusal>> {
  const seen = await withoutOwedCallbacks(system, id)
  if (!isHere(system, seen)) return UNKNOWN
  const again = await republication(system, seen)
  const { decision, task } = await transact(system, seen, current =>
    isHere(system, current)
      ? restart(
          current,
          { publication: { ...withNewBirth(system, again), ...kept(current) }, clean, keepInput: true },
          system.clock.now(),
        )
      : UNKNOWN,
  )
  return operated(decision, task)
}

/** The head, after the callbacks of an end that is about to be taken back have been published. */
async function withoutOwedCallbacks(system: System, id: string): Promise<Task | undefined> {
  const head = await system.tasks.head(id)
  if (!head?.owes || head.canvas) return head
  await publishTaskCallbacks(system, head)
  return system.tasks.head(id)
}

/** Tries once more to publish the callbacks that an ended task owes. */
export async function retryCallbacks(
  system: System,
  id: string,
): Promise<OperateOutcome<'owes-nothing' | 'owes'>> {
  const seen = await system.tasks.head(id)
  if (!isHere(system, seen)) return UNKNOWN
  if (!seen.owes || seen.canvas) return { ok: false, reason: 'owes-nothing', task: seen }
  await publishTaskCallbacks(system, seen)
  const task = await system.tasks.head(id)
  // Its retention may have been over: then it was kept for its callbacks alone.
  if (!task || task.state === 'removed') return UNKNOWN
  return task.owes ? { ok: false, reason: 'owes', task } : { ok: true, task }
}

/** Kind, order, partition and steps of the type as it is now; all else stays as the task has it. */
async function republication(system: System, task: Task): Promise<PublicationDraft> {
  const { types, clock, chance } = system
  const now = clock.now()
  const stored = await types.get(task.type)
  // The type may do other steps by now, whose types know of no tenants yet.
  if (stored && task.fairnessKey !== undefined) await markFair(system, name => types.get(name), stored)
  const flow = stored && (await stepsNow(types, stored, task))
  // A flow whose steps cannot be resolved, of a task that was none, would wait for nobody.
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

/** Steps that cannot be resolved any more stay as they were. */
async function stepsNow(types: TypeStore, type: TaskType, task: Task): Promise<FlowDefinition | undefined> {
  if (type.configuration.kind !== 'flow') return undefined
  const resolved = await resolveFlow(name => types.get(name), type)
  return resolved.ok ? resolved.definition : task.flow?.definition
}

/** What a patch may have changed since the republication was prepared, and what places and limits the task. */
function kept(task: Task): Pick<Publication, 'options' | 'priority'> {
  const { options, priority, fairnessKey, userId, tags, flow } = task
  return {
    options: flow ? optionsOfFlow(options, flow) : options,
    priority,
    ...(fairnessKey !== undefined && { fairnessKey }),
    ...(userId !== undefined && { userId }),
    ...(tags !== undefined && { tags }),
  }
}

/** Those of its present step stay behind. */
function optionsOfFlow({ retentionMs }: Options, { deadlineMs }: FlowState): Options {
  return { ...DEFAULT_OPTIONS, retentionMs, ...(deadlineMs !== undefined && { deadlineMs }) }
}

/** What a patch changes. `delayMs` counts from now; null takes back what was set. */
export type PatchRequest = Omit<Patch, 'options' | 'allOptions' | 'isEndless' | 'priority'> & {
  readonly delayMs?: number
  readonly priority?: number | null
  readonly options?: PatchedOptions
}

export type PatchOutcome =
  | OperateOutcome<'finished'>
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }

/** Changes an open task. A request that names nothing changes nothing. */
export async function patchTask(system: System, id: string, request: PatchRequest): Promise<PatchOutcome> {
  const head = await system.tasks.head(id)
  const isWebhookInput = head?.kind === 'webhook' && request.input !== undefined
  const isAsked = request.priority === null || clears(request.options ?? {}) || isWebhookInput
  const type = isAsked && head ? await system.types.get(head.type) : undefined
  const { decision, task } = await transact(system, head, current =>
    isHere(system, current)
      ? decidePatch(current, request, type?.configuration, system.clock.now())
      : UNKNOWN,
  )
  if (!decision.ok && decision.reason === 'invalid') return decision
  return operated(decision, task)
}

type PatchDecision =
  | { readonly ok: true; readonly change?: Change }
  | { readonly ok: false; readonly reason: 'finished'; readonly change?: undefined }
  | {
      readonly ok: false
      readonly reason: 'invalid'
      readonly problems: readonly FieldProblem[]
      readonly change?: undefined
    }

function decidePatch(
  task: Task,
  request: PatchRequest,
  configuration: TypeConfiguration | undefined,
  now: number,
): PatchDecision {
  if (task.state !== 'open') return { ok: false, reason: 'finished' }
  if (Object.keys(request).length === 0) return { ok: true }
  const { delayMs, options: given, priority: wanted, ...plain } = request
  const defaults = configuration?.defaults ?? {}
  const problems = patchProblems(task, request, configuration)
  if (problems.length > 0) return { ok: false, reason: 'invalid', problems }
  const overlaid = optionChanges(task, given, defaults)
  if (!overlaid.ok) return { ...overlaid, reason: 'invalid' }
  const due = delayMs === undefined ? {} : { dueAt: now + delayMs }
  const priority = wanted === null ? (defaults.priority ?? 0) : wanted
  const changes = { ...plain, ...(priority !== undefined && { priority }), ...due, ...overlaid.changes }
  const patched = patch(task, changes, now)
  if (patched.ok) return patched
  if (patched.reason === 'finished') return { ok: false, reason: 'finished' }
  if (patched.reason === 'a-flow') throw new BatonError('invalid', `${task.id} is a flow and has no stage`)
  throw new BatonError('invalid', `${task.id} would list fewer workers than must succeed`)
}

type OptionChanges =
  | { readonly ok: true; readonly changes: Pick<Patch, 'options' | 'allOptions' | 'isEndless'> }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** Of a flow only what holds for it as a whole: its options are those of its present step. */
function optionChanges(
  { flow, options }: Task,
  given: PatchedOptions | undefined,
  defaults: TypeConfiguration['defaults'],
): OptionChanges {
  if (!given) return { ok: true, changes: {} }
  const typed = typeOptions({ defaults })
  if (!flow) {
    const all = patchedOptions(options, given, typed)
    return all.ok ? { ok: true, changes: { allOptions: all.options } } : all
  }
  const deadlineMs = given.deadlineMs === null ? typed.deadlineMs : given.deadlineMs
  const retentionMs = given.retentionMs === null ? typed.retentionMs : given.retentionMs
  const isEndless = given.deadlineMs === null && deadlineMs === undefined
  return {
    ok: true,
    changes: {
      options: {
        ...(deadlineMs !== undefined && { deadlineMs }),
        ...(retentionMs !== undefined && { retentionMs }),
      },
      ...(isEndless && { isEndless }),
    },
  }
}

function patchProblems(
  { flow }: Task,
  request: PatchRequest,
  configuration: TypeConfiguration | undefined,
): FieldProblem[] {
  const ofWebhook = configuration ? webhookInputProblems(configuration, request.input) : []
  return flow ? [...flowPatchProblems(flow, request), ...ofWebhook] : ofWebhook
}

function flowPatchProblems(
  { definition }: FlowState,
  { options = {}, input, stage }: PatchRequest,
): FieldProblem[] {
  const staged = stage === undefined ? [] : [{ path: 'stage', message: 'is for tasks that are no flows' }]
  return [...flowOptionProblems(options), ...flowInputProblems(definition.steps, input), ...staged]
}

const UNKNOWN = { ok: false, reason: 'unknown' } as const

function isHere(system: System, task: Task | undefined): task is Task {
  return task !== undefined && !isGone(task, system.clock.now())
}

function operated<Refusal extends string>(
  decision: { ok: true } | { ok: false; reason: Refusal | 'unknown' },
  task: Task | undefined,
): OperateOutcome<Refusal> {
  if (!task || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (decision.ok) return { ok: true, task }
  return { ok: false, reason: decision.reason as Refusal, task }
}
