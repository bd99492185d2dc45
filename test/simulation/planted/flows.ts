import { type Change, revise } from '../../../shared/core/change.ts'
import { openStep } from '../../../shared/core/flow/pieces.ts'
import { recordCallbacksPublished } from '../../../shared/core/operate/operate.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { isSamePiece } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { publishOwedCallbacks } from '../../../shared/runtime/plan/publish-callbacks.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withTaskWrites } from './task-writes.ts'

/** Faults in the order of steps, and in the callbacks that the ends of tasks publish. */
export const FLOW_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a step that never began is undone',
    spoil: system =>
      withUndo(system, change =>
        undoAt(system, change, change.after.state === 'open' ? stepsToCome(change.after)[0] : undefined),
      ),
  },
  {
    name: 'steps are undone in rising order',
    spoil: system => withUndo(system, change => undoAt(system, change, stepsLeft(change.after)[0])),
  },
  {
    name: 'a stale dispatch claims the present step of its flow',
    spoil: system =>
      withTaskWrites(system, apply => async change => {
        const applied = await apply(change)
        const { current } = applied.applied ? { current: undefined } : applied
        const isStale = change.after.operation === 'claim' && current && !isSamePiece(change.after, current)
        if (!isStale) return applied
        const run = change.after.live[change.after.fence]
        const again = claim(current, { workerId: run?.workerId ?? '' }, system.clock.now())
        return again.ok ? apply(again.change) : applied
      }),
  },
  {
    name: 'callbacks are published before the end of their task is written',
    spoil: system =>
      withTaskWrites(system, apply => async change => {
        const { after, before } = change
        if (after.owes && !before?.owes && after.callbacks)
          await publishOwedCallbacks(asThough(system, after), [after])
        return apply(change)
      }),
  },
  {
    name: 'callbacks are recorded as published before they are',
    spoil: system =>
      withTaskWrites(system, apply => async change => {
        const applied = await apply(change)
        const owesCallbacks = applied.applied && applied.head.owes && applied.head.callbacks
        if (!owesCallbacks) return applied
        const settled = recordCallbacksPublished(applied.head, system.clock.now())
        return settled.ok ? apply(settled.change) : applied
      }),
  },
  {
    name: 'a task does not show that it owes callbacks while they are published',
    spoil: system =>
      withTaskWrites(system, apply => async change => {
        const applied = await apply(change)
        if (!applied.applied || !applied.head.owes || !applied.head.callbacks) return applied
        const { head: task } = applied
        const settled = recordCallbacksPublished(task, system.clock.now())
        const hidden = settled.ok ? await apply(settled.change) : applied
        if (hidden.applied) await publishOwedCallbacks(asThough(system, task), [task])
        return hidden
      }),
  },
]

/** Changes every write that starts an undo, or ends the last one. */
function withUndo(system: PlanningSystem, spoilt: (change: Change<Task>) => Change<Task>): PlanningSystem {
  return withTaskWrites(system, apply => change => {
    const { before, after } = change
    const isUndo = before && after.flow?.direction === 'undo'
    const isEnd = after.state === 'failed' && before?.flow?.direction === 'undo'
    return apply(isUndo && (isEnd || !isSamePiece(before, after)) ? spoilt(change) : change)
  })
}

/** The same write, but with the undo of another step. */
function undoAt({ clock }: PlanningSystem, change: Change<Task>, at: number | undefined): Change<Task> {
  if (at === undefined || !change.before) return change
  const { finishedAt: _finishedAt, expiresAt: _expiresAt, owes: _owes, ...rest } = change.after
  const draft = openStep({ ...rest, state: 'open' }, at, 'undo', clock.now())
  return { ...change, after: revise(change.before, draft, clock.now()).change.after }
}

/** Steps with an undo that come after the flow's cursor. */
function stepsToCome({ flow }: Task): number[] {
  const { steps = [] } = flow?.definition ?? {}
  return steps.flatMap(({ undo }, at) => (undo && at > (flow?.reachedStep ?? 0) ? [at] : []))
}

/** Steps that have begun and have not been undone. */
function stepsLeft({ flow }: Task): number[] {
  const { steps = [] } = flow?.definition ?? {}
  return steps.flatMap(({ undo }, at) => (undo && flow?.steps[at] && !flow.steps[at].undo ? [at] : []))
}

/** The system in which a write that is still to come seems to be stored. */
function asThough(system: PlanningSystem, after: Task): PlanningSystem {
  return {
    ...system,
    tasks: {
      ...system.tasks,
      head: async id => (id === after.id ? after : system.tasks.head(id)),
      apply: async change =>
        change.after.operation === 'settle'
          ? { applied: true, head: change.after }
          : system.tasks.apply(change),
    },
  }
}
