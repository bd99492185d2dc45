import { MINUTE_LEAD_MS } from '../../../shared/core/bounds.ts'
import { minuteStart } from '../../../shared/core/place/place.ts'
import { type Head, isSchedule } from '../../../shared/core/task/head.ts'
import { type PresentSchedule, SCHEDULE_TYPE, type Timing } from '../../../shared/core/task/head-fields.ts'
import { taskId } from '../../../shared/core/task/task.ts'
import { planned, plan as planOf } from '../../../shared/core/wake.ts'
import type { Look } from '../../../shared/ports/messages.ts'
import { readHead } from '../../../shared/runtime/kernel/heads.ts'
import { lookOf, planTasks } from '../../../shared/runtime/plan/plan.ts'
import type { PutScheduleOutcome, ScheduleRequest } from '../../../shared/runtime/schedule/schedule.ts'
import { putSchedule } from '../../../shared/runtime/schedule/schedule.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { createManualClock } from '../ports/clock.ts'
import { aMemorySystem, type MemorySystem, registered } from './memory-system.ts'

export type ScheduleWorld = MemorySystem & {
  /** Errors that were logged. */
  readonly errors: string[]
}

/** A memory system with the type `resize`, whose clock stands at `at`. The test itself calls the planner and the waker. */
export async function aScheduleWorld(at: string | number): Promise<ScheduleWorld> {
  const clock = createManualClock(new Date(at).getTime())
  const errors: string[] = []
  const system = aMemorySystem()
  const log = { ...system.log, error: (message: string) => void errors.push(message) }
  const world = { ...system, clock, log, errors }
  await registered(world)
  return world
}

export async function put(
  world: ScheduleWorld,
  timing: Timing,
  more: Partial<ScheduleRequest> = {},
): Promise<Extract<PutScheduleOutcome, { ok: true }>> {
  const outcome = await putSchedule(world, 's', {
    timing,
    missed: 'skip',
    graceMs: 300_000,
    task: { type: 'resize' },
    ...more,
  })
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome)}`)
  return outcome
}

export const SCHEDULE_ID = taskId(SCHEDULE_TYPE, 's')

export async function head(world: ScheduleWorld): Promise<PresentSchedule> {
  const found = await readHead(world, SCHEDULE_ID, isSchedule)
  if (!found?.schedule) throw new Error('there is no schedule')
  return found
}

/** Keys of the tasks that were published, without the schedule's name, earliest due first. */
export async function publishedTicks(world: ScheduleWorld): Promise<string[]> {
  const partition = 'resize#open#0'
  const page = await world.tasks.page({ index: 'view', partition, limit: 10_000 })
  return page.entries.map(({ id }) => id.replace('resize:s@', ''))
}

/**
 * Advances the clock to `until`. When the wake queue would deliver a look, `wakers` wakers serve that look at the same time.
 */
export async function pass(world: ScheduleWorld, until: string | number, wakers = 1): Promise<void> {
  const end = new Date(until).getTime()
  for (;;) {
    const stored = await readHead(world, SCHEDULE_ID, isSchedule)
    const now = world.clock.now()
    const [look] = stored ? lookOf(planned(stored, now), now) : []
    const at = stored && (look ? now + look.delaySeconds * 1_000 : firesAt(stored, now))
    if (at === undefined || at > end) break
    await world.clock.advance(at - now)
    if (stored && look) await wake(world, look, stored.dueAt, wakers)
  }
  await world.clock.advance(Math.max(0, end - world.clock.now()))
}

/** The time at which the EventBridge schedule of the minute fires. Undefined for a schedule without such a minute. */
function firesAt(stored: Head, now: number): number | undefined {
  const { minute } = planOf(stored, now)
  return minute === undefined ? undefined : minuteStart(minute) - MINUTE_LEAD_MS
}

async function wake(world: ScheduleWorld, look: Look, dueAt: number, wakers: number): Promise<void> {
  const served = Promise.all(Array.from({ length: wakers }, () => wakeTasks(world, [look])))
  await world.clock.advance(Math.min(1_000, Math.max(0, dueAt - world.clock.now())))
  const failures = (await served).flat()
  if (failures.length > 0) throw new Error(`not served: ${JSON.stringify(failures)}`)
}

/** Runs the planner once on the stored schedule. */
export async function plan(world: ScheduleWorld): Promise<void> {
  await planTasks(world, [await head(world)])
}
