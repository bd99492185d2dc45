import { type Change, isOfTask } from '../../../shared/core/change.ts'
import { shardOf } from '../../../shared/core/limits/limits.ts'
import { liveRuns, type Task } from '../../../shared/core/task/task.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { PAUSE_ACK_MS } from '../../../shared/runtime/types/type-cache.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults in pauses, rate limits and concurrency limits. */
const FAULTS: readonly PlantedFault[] = [
  {
    name: 'a pause is acknowledged at once',
    spoil: system => ({
      ...system,
      clock: {
        ...system.clock,
        sleep: (ms, signal) => system.clock.sleep(ms === PAUSE_ACK_MS ? 0 : ms, signal),
      },
    }),
  },
  {
    name: 'a slow claim does not check the pause again',
    needs: 'control',
    spoil: afterClaims,
  },
  {
    name: 'resuming a type starts no job that sends its waiting tasks',
    spoil: system => ({
      ...system,
      messages: {
        ...system.messages,
        continueJobs: async looks =>
          system.messages.continueJobs(looks.filter(({ job }) => job.kind !== 'resume')),
      },
    }),
  },
  {
    name: 'the permit of a lost run is kept',
    spoil: keepingPermits,
  },
  {
    name: 'a permit is recorded without counting the recorded ones',
    spoil: inLimits(limits => ({
      acquire: (limit, holder) => limits.acquire(limit, holder, Number.POSITIVE_INFINITY),
    })),
  },
  {
    name: 'no look is sent to a limit whose tasks wait',
    spoil: system => ({
      ...system,
      messages: { ...system.messages, lookAtLimits: async () => [] },
    }),
  },
  {
    name: 'a run begins before its reserved slot',
    spoil: system => ({
      ...system,
      tasks: { ...system.tasks, apply: change => system.tasks.apply(startedLater(change)) },
    }),
  },
  {
    name: 'a reserved slot is not stored, so that other runs use it, too',
    spoil: inLimits(() => ({ putSlots: async () => undefined })),
  },
  {
    name: 'a slot that a run uses is given back, so that another run uses it, too',
    spoil: inLimits(limits => ({
      putSlots: async (limit, log, seen, write) => {
        const counts = log.counts.map(([part, count]) => [part, count - 1] as const)
        return limits.putSlots(
          limit,
          { ...log, counts: counts.filter(([, count]) => count > 0) },
          seen,
          write,
        )
      },
    })),
  },
]

export const CONTROL_FAULTS: readonly PlantedFault[] = FAULTS.map(fault => ({ ...fault, needs: 'control' }))

type Limits = PlanningSystem['limits']

function inLimits(spoilt: (limits: Limits) => Partial<Limits>): PlantedFault['spoil'] {
  return system => ({ ...system, limits: { ...system.limits, ...spoilt(system.limits) } })
}

/** The start of the claimed run is written half a second late. */
function startedLater(change: Change): Change {
  if (!isOfTask(change)) return change
  const { before, after } = change
  if (after.operation !== 'claim') return change
  const live = Object.entries(after.live).map(
    ([fence, run]) =>
      [fence, before?.live[run.fence] ? run : { ...run, startedAt: run.startedAt + 500 }] as const,
  )
  return { ...change, after: { ...after, live: Object.fromEntries(live) } }
}

/** Right after a claim was answered no type seems to be paused. */
function afterClaims(system: PlanningSystem): PlanningSystem {
  let claimedAt = Number.NaN
  return {
    ...system,
    tasks: {
      ...system.tasks,
      apply: async change => {
        const applied = await system.tasks.apply(change)
        if (change.after.operation === 'claim') claimedAt = system.clock.now()
        return applied
      },
    },
    types: {
      ...system.types,
      get: async name => {
        const isAfterClaim = system.clock.now() === claimedAt
        const type = await system.types.get(name)
        return isAfterClaim && type ? { ...type, paused: false } : type
      },
    },
  }
}

/** Permits of lost runs are not released. Only a task that waits for the permit finds it to be stale. */
function keepingPermits(system: PlanningSystem): PlanningSystem {
  const kept = new Set<string>()
  return {
    ...system,
    tasks: {
      ...system.tasks,
      apply: change => {
        const lost = isOfTask(change) ? lostHolders(change.before, change.after) : []
        for (const holder of lost) kept.add(holder)
        return system.tasks.apply(change)
      },
    },
    limits: {
      ...system.limits,
      release: (limit, holder, releasing) =>
        kept.delete(holder)
          ? system.limits.permits(limit, [shardOf(holder)])
          : system.limits.release(limit, holder, releasing),
    },
  }
}

function lostHolders(before: Task | undefined, after: Task): string[] {
  if (!before) return []
  return liveRuns(before)
    .filter(({ fence }) => after.ended[fence]?.state === 'lost')
    .flatMap(({ permits = [] }) => permits.map(({ holder }) => holder))
}
