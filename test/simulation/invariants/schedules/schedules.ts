import type { ScheduleState } from '../../../../shared/core/task/head-fields.ts'
import type { Step } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import { START } from '../../world/world.ts'
import type { Invariant, Write } from '../invariant.ts'
import { nameOfTick, textOfTick, tickedBy, ticksBetween } from './ticks.ts'

/** A late tick is repaired within this time: the sweeper runs every minute, and calls may be slow. */
const REPAIRED_WITHIN_MS = 120_000

/** Promises about schedules. */
export const SCHEDULE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'the task of a tick is published once, and never before its time',
    watch: () => {
      const seen = new Set<string>()
      return {
        on: event => {
          const task = tickedBy(event)
          if (!task || event.what !== 'write') return undefined
          const name = nameOfTick(task, task.type)
          if (seen.has(name)) return `${task.id} is another task of the same tick`
          seen.add(name)
          const early = task.dueAt - event.clock
          return early > 0 ? `${task.id} is published ${early} ms before its tick` : undefined
        },
      }
    },
  },
  {
    name: 'no tick is published once the pause or removal of its schedule was acknowledged',
    watch: ({ weather }) => {
      const endedSchedules = createEndedSchedules()
      return {
        on: event => {
          endedSchedules.see(event)
          const task = tickedBy(event)
          const since = task && endedSchedules.since(task.parentId ?? '')
          // A process with a fast clock may have read the schedule before it was paused.
          return task && since !== undefined && task.dueAt > since + 2 * weather.skewMs
            ? `${task.id} is published for a tick ${Math.round(task.dueAt - since)} ms after the end of its schedule was acknowledged`
            : undefined
        },
      }
    },
  },
  {
    name: 'every tick is published, unless it was missed or paused',
    watch: () => {
      const published = new Set<string>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const task = tickedBy(event)
          if (task) published.add(nameOfTick(task, task.type))
          return event.after.operation === 'tick' ? faultOfTick(event, published) : undefined
        },
      }
    },
  },
  {
    name: 'once it is calm, no schedule is late for more than two minutes',
    watch: ({ calmAt }) => ({
      on: event => {
        if (event.what !== 'write') return undefined
        const { before, after, at } = event
        if (!before?.schedule || before.schedule.paused || before.state !== 'open') return undefined
        if (after.operation !== 'tick' && after.operation !== 'remove') return undefined
        const late = at - Math.max(before.dueAt, before.updatedAt, START + calmAt)
        return late > REPAIRED_WITHIN_MS
          ? `${after.id} waited ${Math.round(late / 1_000)} s for its tick`
          : undefined
      },
    }),
  },
]

/** Since when each schedule is acknowledged to be paused or removed. `see` must get every event. */
function createEndedSchedules() {
  const since = new Map<string, number>()
  const ticking = new Set<string>()
  const written = ({ before, after }: Write) => {
    if (!before?.schedule && !after.schedule) return
    if (!after.schedule || after.schedule.paused) ticking.delete(after.id)
    else ticking.add(after.id)
    if (ticking.has(after.id)) since.delete(after.id)
  }
  return {
    since: (id: string) => since.get(id),
    see: (event: HistoryEvent) => {
      if (event.what === 'write') written(event)
      const id = endedBy(event)
      if (id !== undefined && !ticking.has(id) && !since.has(id)) since.set(id, event.at)
    },
  }
}

/** The schedule that an answer acknowledges to be paused or removed. */
function endedBy(event: HistoryEvent): string | undefined {
  if (event.what !== 'answer' || !event.answer.ok) return undefined
  const { step } = event
  const isEnd = step.do === 'pause-schedule' || step.do === 'remove-schedule'
  return isEnd ? `schedule:${step.schedule}` : undefined
}

/** What is wrong with a tick: a tick that it must not pass over, or a wrong next one. */
function faultOfTick({ before, after, clock }: Write, published: ReadonlySet<string>): string | undefined {
  const schedule = before?.schedule
  if (!before || !schedule) return `${after.id} ticks without being a schedule`
  if (schedule.paused) return `${after.id} ticks, although it is paused`
  const isOver = after.state !== 'open'
  const until = isOver ? clock + 1 : after.dueAt
  const passed = ticksBetween(before, until)
  const isPublished = (tick: number) =>
    published.has(nameOfTick({ ...before, dueAt: tick }, schedule.taskType))
  const early = passed.find(tick => tick > clock)
  if (early !== undefined) return `${after.id} passes over ${textOfTick(early)}, which is not due yet`
  if (!isOver && ticksBetween({ ...before, dueAt: until }, until + 1).length === 0) {
    return `${after.id} is due at ${textOfTick(until)}, which is not one of its ticks`
  }
  const lost = owedTicks(schedule, passed, clock).find(tick => !isPublished(tick))
  return lost === undefined ? undefined : `${after.id} passes over ${textOfTick(lost)}, which it owes`
}

/**
 * The passed ticks that had to be published. With `skip` it is the latest one, unless it was later than the
 * grace by the planner's clock or fell into a pause. Otherwise it is the latest few.
 */
function owedTicks(
  { missed, graceMs, pauses = [] }: ScheduleState,
  passed: readonly number[],
  clock: number,
): readonly number[] {
  if (missed !== 'skip') return passed.slice(-missed.catchUp)
  const isMissed = (tick: number) =>
    clock - tick > graceMs ||
    pauses.some(({ from, to = Number.POSITIVE_INFINITY }) => tick >= from && tick < to)
  return passed.slice(-1).filter(tick => !isMissed(tick))
}

/** The schedules in the steps. */
export function schedulesIn(steps: readonly Step[]): string[] {
  return [...new Set(steps.flatMap(step => (step.do === 'put-schedule' ? [step.schedule] : [])))]
}
