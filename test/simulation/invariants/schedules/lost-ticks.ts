import type { ScheduleState } from '../../../../shared/core/task/schedule-state.ts'
import type { Task } from '../../../../shared/core/task/task.ts'
import { START } from '../../world/world.ts'
import type { Invariant, Write } from '../invariant.ts'
import { nameOfTick, textOfTick, tickedBy, ticksBetween } from './ticks.ts'

/** By `calmAt` the outage is over, or the message lost. So much later everything is repaired. */
const REPAIRED_WITHIN_MS = 120_000
/** Longer than a look takes in a calm world. */
const LOOK_MS = 30_000
const AFTERMATH_MS = 90_000

type Scene = Parameters<Invariant['watch']>[0]

/** What becomes of ticks when there is a single fault, and when a schedule fell behind. */
export const LOST_TICK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no tick is lost to one lost message, or to an outage of one service two minutes shorter than the grace',
    watch: scenario => {
      if (scenario.trial !== 'nightly') return {}
      const count = createCount(scenario)
      return {
        on: event => (event.what === 'write' ? count.see(event) : undefined),
        atEnd: () => (count.expected() === 0 ? 'no tick fell due at all' : undefined),
      }
    },
  },
  {
    name: 'one look at a schedule runs its latest due tick, or as many of the latest as it catches up on',
    watch: () => {
      const looks = createLooks()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          looks.see(event)
          const task = tickedBy(event)
          return task && looks.faultOf(task, event.by)
        },
      }
    },
  },
  {
    name: 'a schedule that fell behind runs its latest ticks alone',
    watch: scenario => {
      const schedules = new Map<string, Task>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { after, at } = event
          if (after.schedule) schedules.set(after.id, after)
          const task = tickedBy(event)
          const schedule = task && schedules.get(task.parentId ?? '')
          return task && schedule && isCalm(scenario, at) ? faultOfLate(task, schedule, at) : undefined
        },
      }
    },
  },
]

/**
 * Counts the tasks that each look at a schedule has published. A process publishes those of one look together, and their
 * births are of one time; a schedule that was changed meanwhile may run as many as any of its definitions says.
 */
function createLooks() {
  const most = new Map<string, number>()
  const counts = new Map<string, number>()
  return {
    see: ({ after }: Write) => {
      if (after.schedule) most.set(after.id, Math.max(most.get(after.id) ?? 0, ticksAtOnce(after.schedule)))
    },
    faultOf: ({ parentId = '', born }: Task, by: string): string | undefined => {
      const look = `${parentId} ${by} ${born.slice(0, TIME_CHARACTERS)}`
      const count = (counts.get(look) ?? 0) + 1
      counts.set(look, count)
      const allowed = most.get(parentId) ?? 0
      return count > allowed
        ? `one look at ${parentId} has run ${count} ticks of at most ${allowed}`
        : undefined
    },
  }
}

/** Of a ULID. */
const TIME_CHARACTERS = 10

function ticksAtOnce({ missed }: ScheduleState): number {
  return missed === 'skip' ? 1 : missed.catchUp
}

/** Compares the ticks of each schedule, from its creation to its removal, with those that were published. */
function createCount({ calmAt }: Scene) {
  const published = new Set<string>()
  const created = new Map<string, Task>()
  let expected = 0
  const lostOnes = (set: Task, at: number): string | undefined => {
    const ticks = ticksBetween(set, Math.min(at - REPAIRED_WITHIN_MS, START + calmAt))
    expected += ticks.length
    const type = set.schedule?.taskType ?? ''
    const lost = ticks.find(tick => !published.has(nameOfTick({ ...set, dueAt: tick }, type)))
    return lost === undefined ? undefined : `${set.id} has lost ${textOfTick(lost)}`
  }
  return {
    expected: () => expected,
    see: (write: Write): string | undefined => {
      const { before, after, at } = write
      const task = tickedBy(write)
      if (task) published.add(nameOfTick(task, task.type))
      if (!before && after.schedule) created.set(after.id, after)
      const set = after.operation === 'remove' ? created.get(after.id) : undefined
      return set && lostOnes(set, at)
    },
  }
}

function faultOfLate({ id, dueAt }: Task, head: Task, at: number): string | undefined {
  const { schedule, operation } = head
  // Another timing may have come while the tick of the former was on its way.
  if (!schedule || schedule.timing.kind === 'at' || operation === 'update') return undefined
  const later = ticksBetween({ ...head, dueAt: dueAt + 1 }, at - LOOK_MS).length
  const isOneOfTheLatest = later < ticksAtOnce(schedule)
  return isOneOfTheLatest ? undefined : `${id} is published, though ${later} later ticks have long been due`
}

/** Nothing is slow or frozen or wrong about the time, and nothing that was can still be on its way. */
function isCalm({ weather, calmAt }: Scene, at: number): boolean {
  return Object.values(weather).every(share => share === 0) || at > START + calmAt + AFTERMATH_MS
}
