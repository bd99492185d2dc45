import type { Task } from '../../../shared/core/task/task.ts'
import type { JobLook } from '../../../shared/core/types/task-type.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { PlantedFault } from './planted-fault.ts'

const HOUR_MS = 3_600_000

/** Faults in messages, in the sweeper, and in purges. */
export const MESSAGE_FAULTS: readonly PlantedFault[] = [
  {
    name: 'the sweeper reads no type',
    spoil: system => ({ ...system, types: { ...system.types, list: async () => [] } }),
  },
  {
    name: 'no look at a task is sent',
    spoil: system => ({ ...system, messages: { ...system.messages, look: async () => [] } }),
  },
  {
    name: 'a dispatch is sent only by the sweeper',
    spoil: system => ({ ...system, messages: { ...system.messages, dispatch: bySweeper(system) } }),
  },
  {
    name: 'a far minute whose EventBridge schedule was lost is never woken',
    needs: 'far',
    spoil: system => ({
      ...system,
      timers: { ensureMinute: async () => undefined },
      records: {
        ...system.records,
        get: async name => (name.startsWith('minute#') ? { at: 0 } : system.records.get(name)),
      },
    }),
  },
  {
    name: 'a purge is started, but removes nothing',
    spoil: system => ({
      ...system,
      messages: { ...system.messages, continueJobs: async () => [] },
      records: {
        ...system.records,
        get: async name =>
          name.startsWith('purge#') ? { isSecond: true, isDone: true, at: 0 } : system.records.get(name),
      },
    }),
  },
  {
    name: 'a purge removes tasks that were published after its request',
    spoil: system => ({
      ...system,
      messages: {
        ...system.messages,
        continueJobs: looks => system.messages.continueJobs(looks.map(lookAtLater)),
      },
    }),
  },
  {
    name: 'the workers that a task lists get no marker of it',
    spoil: system => ({ ...system, targets: { ...system.targets, mark: async () => undefined } }),
  },
]

function bySweeper({ messages, clock }: PlanningSystem): PlanningSystem['messages']['dispatch'] {
  const isOld = (task: Task) => clock.now() - Math.max(task.dueAt, task.updatedAt) > 5_000
  return async dispatches => {
    const old = dispatches.filter(({ task }) => isOld(task))
    return old.length > 0 ? messages.dispatch(old) : []
  }
}

function lookAtLater(look: JobLook): JobLook {
  const { job } = look
  if (job.kind !== 'purge') return look
  return { ...look, job: { ...job, before: job.before + HOUR_MS, askedAt: job.askedAt + HOUR_MS } }
}
