import type { Change } from '../../../shared/core/change.ts'
import { definitionName } from '../../../shared/core/flow/flow.ts'
import { type PartialOptions, resolveOptions } from '../../../shared/core/options.ts'
import { withIndexEntries } from '../../../shared/core/place/place.ts'
import type { Publication } from '../../../shared/core/publish.ts'
import type { FlowDefinition, StepAction } from '../../../shared/core/task/flow-state.ts'
import { type Head, isTask } from '../../../shared/core/task/head.ts'
import type {
  Canvas,
  PresentCanvas,
  PresentSchedule,
  Schedule,
  ScheduleState,
} from '../../../shared/core/task/head-fields.ts'
import { CANVAS_TYPE, SCHEDULE_TYPE } from '../../../shared/core/task/head-fields.ts'
import { type EndedRun, type LiveRun, type Task, taskId } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import type { Applied } from '../../../shared/ports/stores.ts'

/** This file builds core values. A test names only what matters to it. */

/** The present of all decision tables. */
export const NOW = Date.UTC(2026, 0, 1, 12)
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export const BORN = '01KDX3A0000000000000000000'
export const LATER_BORN = '01KDX3A0000000000000000001'

export type TaskParts = Partial<Omit<Task, 'options' | 'live' | 'ended'>> & {
  readonly options?: PartialOptions
  readonly live?: readonly LiveRun[]
  readonly ended?: readonly EndedRun[]
}

/**
 * A task that is due, of a handler type, in revision 1. Options overlay the system's defaults. The fence and the failure
 * counts follow from the runs. The entries in the indexes `view` and `place` follow from all of it at `NOW`.
 */
export function aTask(parts: TaskParts = {}): Task {
  const { options, live = [], ended = [], ...rest } = parts
  const failed = ended.filter(run => run.state === 'failed' || run.state === 'lost')
  const resolved = resolveOptions(options ?? {})
  const type = rest.type ?? 'resize'
  const key = rest.key ?? 'k1'
  const dueAt = rest.dueAt ?? NOW
  const task: Task = {
    id: taskId(type, key),
    type,
    key,
    kind: 'handler',
    ordering: 'arrival',
    born: BORN,
    revision: 1,
    operation: 'publish',
    state: 'open',
    dueAt,
    retrying: false,
    priority: 0,
    options: resolved,
    fence: Math.max(0, ...[...live, ...ended].map(run => run.fence)),
    live: byFence(live),
    ended: byFence(ended),
    failures: failed.length,
    failuresBy: resolved.retry.scope === 'worker' ? countBy(failed.map(run => run.workerId)) : {},
    retryAtBy: {},
    createdAt: NOW,
    updatedAt: NOW,
    shard: 0,
    ...(resolved.deadlineMs !== undefined && { deadlineAt: dueAt + resolved.deadlineMs }),
    ...(live.length + ended.length > 0 && { startedAt: NOW }),
    ...rest,
  }
  return withIndexEntries(task, NOW)
}

/** The members that the builders of canvases and schedules share. */
function aHead(type: string, key: string) {
  return {
    ...{ id: taskId(type, key), type, key, born: BORN, revision: 1, fence: 0, shard: 0 },
    operation: 'publish' as const,
    state: 'open' as const,
    dueAt: NOW,
    options: resolveOptions({}),
    createdAt: NOW,
    updatedAt: NOW,
  }
}

/** An open canvas of one member, in revision 1. */
export function aCanvas(parts: Partial<PresentCanvas> = {}): Canvas {
  const canvas = { tree: { inline: null }, leaves: 1, started: false }
  return withIndexEntries<Canvas>({ ...aHead(CANVAS_TYPE, 'c1'), kind: 'canvas', canvas, ...parts }, NOW)
}

/** An open schedule that is due now and every minute, in revision 1. */
export function aSchedule(parts: Partial<PresentSchedule> = {}): Schedule {
  const schedule: ScheduleState = {
    timing: { kind: 'every', everyMs: MINUTE },
    missed: 'skip',
    graceMs: 1,
    taskType: 'resize',
    paused: false,
  }
  const input = { inline: { type: 'resize' } }
  return withIndexEntries<Schedule>(
    { ...aHead(SCHEDULE_TYPE, 's1'), kind: 'schedule', schedule, input, ...parts },
    NOW,
  )
}

/** A type over HTTP in version 1. */
export function aType(parts: Partial<TaskType> = {}): TaskType {
  const configuration = { kind: 'http', defaults: {} } as const
  return {
    ...{ type: 'resize', configuration, paused: false, version: 1, createdAt: NOW, updatedAt: NOW },
    ...parts,
  }
}

/** A live run of worker `w1`, claimed now with the default lease. */
export function aRun(parts: Partial<LiveRun> = {}): LiveRun {
  return { fence: 1, workerId: 'w1', startedAt: NOW, leaseUntil: NOW + 15 * SECOND, ...parts }
}

/** An ended run of worker `w1`, which succeeded unless `parts` say otherwise. */
export function anEndedRun(parts: Partial<EndedRun> = {}): EndedRun {
  return { fence: 1, workerId: 'w1', state: 'succeeded', startedAt: NOW, endedAt: NOW, ...parts }
}

/** A publication of `resize:k1`, due now. */
export function aPublication(
  parts: Partial<Omit<Publication, 'options'>> & { readonly options?: PartialOptions } = {},
): Publication {
  const { options, ...rest } = parts
  return {
    type: 'resize',
    key: 'k1',
    kind: 'handler',
    ordering: 'arrival',
    born: BORN,
    shard: 0,
    dueAt: NOW,
    priority: 0,
    ...rest,
    options: resolveOptions(options ?? {}),
  }
}

type Decided<H extends Head> = { readonly ok: boolean; readonly change?: Change<H> | undefined }

/** The change of a decision, if it has one. Some refusals have one, too. */
export function changeIn<H extends Head = Task>(decision: Decided<H>): Change<H> | undefined {
  return decision.change
}

/** The change of a decision. Throws the decision if it has none. */
export function changeOf<H extends Head = Task>(decision: Decided<H>): Change<H> {
  if (!decision.ok || !decision.change) throw new Error(`no change: ${JSON.stringify(decision)}`)
  return decision.change
}

/** The head after a transition that must have been accepted. */
export function afterOf<H extends Head = Task>(decision: Decided<H>): H {
  return changeOf(decision).after
}

/** The task that a write left in the store. Throws if the write was refused. */
export function taskIn(applied: Applied): Task {
  if (!applied.applied || !isTask(applied.head)) throw new Error(`not written: ${JSON.stringify(applied)}`)
  return applied.head
}

function byFence<Run extends { readonly fence: number }>(runs: readonly Run[]): Record<string, Run> {
  return Object.fromEntries(runs.map(run => [run.fence, run]))
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries(counts)
}

/** The parts of a step that a test names: its `do`, and its `undo` if it has one. */
type StepParts = {
  readonly name: string
  readonly do?: Partial<StepAction>
  readonly undo?: Partial<StepAction>
}

/** Makes a flow. By default its steps are `reserve` and `charge`, retried once and undoable, and `ship`, which is neither. */
export function aFlow(
  parts: { readonly steps?: readonly StepParts[]; readonly onCancel?: FlowDefinition['onCancel'] } = {},
): FlowDefinition {
  const { steps = SAGA, onCancel = 'undo' } = parts
  const content = {
    steps: steps.map(step => ({
      name: step.name,
      do: anAction(step.name, step.do),
      ...(step.undo && { undo: anAction(`un${step.name}`, step.undo) }),
    })),
    onCancel,
  }
  return { name: definitionName(content), ...content }
}

const SAGA: readonly StepParts[] = [
  { name: 'reserve', undo: {} },
  { name: 'charge', do: { kind: 'http', ordering: 'priority' }, undo: { kind: 'http' } },
  { name: 'ship', do: { options: resolveOptions({ deadlineMs: MINUTE, retry: { maxRetries: 0 } }) } },
]

function anAction(type: string, parts: Partial<StepAction> = {}): StepAction {
  const options = resolveOptions({ retry: { maxRetries: 1, delayMs: SECOND } })
  return { type, kind: 'handler', ordering: 'arrival', shards: 2, options, ...parts }
}
