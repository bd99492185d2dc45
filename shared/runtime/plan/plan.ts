/**
 * Planning sends what each task needs to be looked at when it must be, and publishes the callbacks that its end owes.
 * All of it follows from the stored task alone, so planning a task twice does no harm, and the sweeper plans again
 * what was lost.
 */
import { EVERY_TYPE, QUEUE_DELAY_MS_MAX } from '../../core/bounds.ts'
import { isOutage } from '../../core/errors.ts'
import { minuteStart } from '../../core/place/place.ts'
import { plan, slotLookAt } from '../../core/plan/plan.ts'
import type { Task } from '../../core/task/task.ts'
import type { CanvasLook, Dispatch, Look } from '../../ports/messages.ts'
import type { PlanFailure } from '../kernel/isolate-faults.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { PlanningSystem, System } from '../kernel/system.ts'
import { markTargets } from '../worker/targets.ts'
import { publishOwedCallbacks } from './publish-callbacks.ts'

/**
 * Sends what each task needs to be looked at when it must be: a dispatch, markers, a look, the schedule of a far minute;
 * publishes what the end of a task owes.
 * All of it follows from the stored task, so doing it twice is harmless. One task's trouble harms no other.
 */
export async function planTasks(system: PlanningSystem, tasks: readonly Task[]): Promise<PlanFailure[]> {
  const indebted = tasks.filter(task => plan(task, system.clock.now()).publishesCallbacks)
  const [unsent, unsettled] = await Promise.all([
    sendMessages(system, tasks),
    indebted.length > 0 ? publishOwedCallbacks(system, indebted) : [],
    ensureMinutes(system, tasks),
  ])
  return [...unsent, ...unsettled]
}

/** The dispatches, markers and looks of `tasks`; far ones are left to their minute's schedule. */
export async function sendMessages(system: System, tasks: readonly Task[]): Promise<PlanFailure[]> {
  const now = system.clock.now()
  const dispatches = tasks.flatMap(task => dispatchOf(task, now))
  const looks = tasks.flatMap(task => lookOf(task, now))
  const drives = tasks.flatMap(task => canvasLookOf(task, now))
  const [unsent, unarmed, undriven, unmarked] = await Promise.all([
    dispatches.length > 0 ? system.messages.dispatch(dispatches) : [],
    looks.length > 0 ? system.messages.look(looks) : [],
    drives.length > 0 ? system.messages.lookAtCanvases(drives) : [],
    markTargets(system, tasks),
  ])
  return [
    ...unsent.map(({ index, ...why }) => ({ id: dispatches[index]?.task.id ?? '', ...why })),
    ...unarmed.map(({ index, ...why }) => ({ id: looks[index]?.id ?? '', ...why })),
    ...undriven.map(({ index, ...why }) => ({ id: drives[index]?.id ?? '', ...why })),
    ...unmarked,
  ]
}

/** A dispatch for a turn comes earlier by this: one that comes after it has missed it. */
const TURN_LEAD_MS = 500

/** Rounded down to a whole second: the worker waits out the rest, so that nothing starts late for SQS's sake. */
function dispatchOf(task: Task, now: number): Dispatch[] {
  const { dispatchAt } = plan(task, now)
  if (dispatchAt === undefined) return []
  const delayMs = dispatchAt - now - (task.wait?.kind === 'slot' ? TURN_LEAD_MS : 0)
  return [{ task, delaySeconds: Math.floor(Math.min(Math.max(0, delayMs), QUEUE_DELAY_MS_MAX) / 1_000) }]
}

/**
 * Rounded up, so that a look never comes before what it looks for; far ones come as late as a queue can, and again.
 * Only a look at the due time itself comes early: the waker waits out the rest, so that nothing starts late.
 */
export function lookOf(task: Task, now: number, hops = 0): Look[] {
  const { lookAt } = plan(task, now)
  if (lookAt === undefined) return []
  const delayMs = Math.min(Math.max(0, lookAt - now), QUEUE_DELAY_MS_MAX)
  const { id, born, revision } = task
  const rounded = lookAt === task.dueAt ? Math.floor : Math.ceil
  const isForSlot = slotLookAt(task, now) !== undefined
  return [
    { id, born, revision, hops, ...(isForSlot && { slot: true }), delaySeconds: rounded(delayMs / 1_000) },
  ]
}

function canvasLookOf(task: Task, now: number): CanvasLook[] {
  const { driveAt } = plan(task, now)
  if (driveAt === undefined) return []
  const { id, born } = task
  return [{ id, born, from: 0, delaySeconds: Math.ceil(Math.max(0, driveAt - now) / 1_000) }]
}

/**
 * Makes sure that the minutes of far tasks have their schedules. A schedule that cannot be created is no failure of its
 * tasks: the sweeper wakes each minute that has tasks and was not woken, and a stream that came again for it would send the
 * messages of all other tasks again.
 */
async function ensureMinutes(system: PlanningSystem, tasks: readonly Task[]): Promise<void> {
  const { timers, clock, metrics, log } = system
  const now = clock.now()
  const byMinute = Map.groupBy(tasks, task => plan(task, now).minute)
  const ensured = [...byMinute].map(async ([minute, waiting]) => {
    if (minute === undefined) return
    try {
      await timers.ensureMinute(minute)
    } catch (error) {
      metrics.add('UnscheduledMinute', 1, EVERY_TYPE)
      log.warn('a far minute has no schedule; the sweeper wakes it', {
        minute: minuteStart(minute),
        tasks: waiting.length,
        error,
      })
    }
  })
  await Promise.all(ensured)
}

type Work = (system: PlanningSystem, tasks: readonly Task[]) => Promise<PlanFailure[]>

const APART_AT_ONCE = 10

/**
 * Does the work for all tasks together. Where that throws, one of them may be at odds with what the code expects of a head:
 * each is then worked on by itself, so that only that one is let go. An outage concerns all, and the batch comes again.
 */
export async function isolateFaults(
  work: Work,
  system: PlanningSystem,
  tasks: readonly Task[],
): Promise<PlanFailure[]> {
  try {
    return await work(system, tasks)
  } catch (error) {
    if (isOutage(error)) throw error
    const [only, ...others] = tasks
    if (only && others.length === 0) return [{ id: only.id, reason: String(error), transient: false }]
    const each = await sideBySide(tasks, APART_AT_ONCE, task => isolateFaults(work, system, [task]))
    return each.flat()
  }
}
