import type { ScheduleState } from '../../../../shared/core/task/head-fields.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import type { Invariant, Write } from '../invariant.ts'
import { nameOfTick, textOfTick, tickedBy, ticksBetween } from './ticks.ts'

/** How long after `calmAt` everything is repaired. By then the outage has ended, or the message was lost. */
const REPAIRED_WITHIN_MS = 120_000
/** Longer than a look takes in a calm world. */
const LOOK_MS = 30_000
const AFTERMATH_MS = 90_000

type Scene = Parameters<Invariant['watch']>[0]

/** Promises about ticks when there is a single fault, and when a schedule fell behind. */
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
    name: 'one look at a schedule publishes its latest due tick, or at most as many as it catches up on',
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
    name: 'a schedule that fell behind publishes only its latest ticks',
    watch: scenario => {
      const schedules = new Map<string, SeenHead>()
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
 * Counts the tasks that each look at a schedule published. One look publishes its tasks together, so the time
 * in their births is the same. A schedule that was changed meanwhile may run as many as any of its definitions
 * allows.
 */
function createLooks() {
  const most = new Map<string, number>()
  const counts = new Map<string, number>()
  return {
    see: ({ after }: Write) => {
      if (after.schedule) most.set(after.id, Math.max(most.get(after.id) ?? 0, ticksAtOnce(after.schedule)))
    },
    faultOf: ({ parentId = '', born }: SeenHead, by: string): string | undefined => {
      const look = `${parentId} ${by} ${born.slice(0, TIME_CHARACTERS)}`
      const count = (counts.get(look) ?? 0) + 1
      counts.set(look, count)
      const allowed = most.get(parentId) ?? 0
      return count > allowed
        ? `one look at ${parentId} has published ${count} ticks of at most ${allowed}`
        : undefined
    },
  }
}

/** The number of characters of a ULID that hold its time. */
const TIME_CHARACTERS = 10

function ticksAtOnce({ missed }: ScheduleState): number {
  return missed === 'skip' ? 1 : missed.catchUp
}

/** Compares the ticks of each schedule, from its creation to its removal, with the published ones. */
function createCount({ calmAt }: Scene) {
  const published = new Set<string>()
  const created = new Map<string, SeenHead>()
  let expected = 0
  const lostOnes = (set: SeenHead, at: number): string | undefined => {
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

function faultOfLate({ id, dueAt }: SeenHead, head: SeenHead, at: number): string | undefined {
  const { schedule, operation } = head
  // The timing may have been changed while a tick of the former timing was on its way.
  if (!schedule || schedule.timing.kind === 'at' || operation === 'update') return undefined
  const later = ticksBetween({ ...head, dueAt: dueAt + 1 }, at - LOOK_MS).length
  const isOneOfTheLatest = later < ticksAtOnce(schedule)
  return isOneOfTheLatest ? undefined : `${id} is published, although ${later} later ticks are due`
}

/** Whether nothing is slow or frozen, no clock is wrong, and no effect of bad weather is under way. */
function isCalm({ weather, calmAt }: Scene, at: number): boolean {
  return Object.values(weather).every(share => share === 0) || at > START + calmAt + AFTERMATH_MS
}
