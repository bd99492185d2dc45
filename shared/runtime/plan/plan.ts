/**
 * Planning sends the messages by which each task is looked at in time, and publishes the callbacks that its end
 * owes. All of it follows from the stored task alone, so planning a task twice does no harm, and the sweeper
 * plans again what was lost.
 *
 * This file sends dispatches, looks and markers; `publish-callbacks.ts` publishes callbacks. Neither trusts a head (`core/types/other-types.ts`).
 */

import { EVERY_TYPE, QUEUE_DELAY_MS_MAX } from '../../core/bounds.ts'
import { minuteStart } from '../../core/place/place.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { rulingTypes, workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { mayDoWork } from '../../core/types/other-types.ts'
import { groupBy, isOutage } from '../../core/values/values.ts'
import { type Planned, planned } from '../../core/wake.ts'
import type { CanvasLook, Dispatch, Look } from '../../ports/messages.ts'
import { failureOf, type PlanFailure, sideBySide } from '../kernel/heads.ts'
import type { PlanningSystem, System } from '../kernel/system.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { markTargets } from '../worker/worker.ts'
import { publishCallbacksOfTasks } from './publish-callbacks.ts'

/**
 * Sends each task's dispatch, look and markers, creates the EventBridge schedules of far minutes, and publishes owed callbacks. A far
 * minute is further ahead than an SQS delay reaches (15 minutes). A fault of one task harms no other.
 */
export async function planTasks(system: PlanningSystem, heads: readonly Head[]): Promise<PlanFailure[]> {
  const all = plannedNow(system, heads)
  const owing = tasksOf(all).flatMap(({ head, plan }) => (plan.publishesCallbacks ? [head] : []))
  const [unsent, unpublished] = await Promise.all([
    sendPlanned(system, all),
    owing.length > 0 ? publishCallbacksOfTasks(system, owing) : [],
    ensureMinutes(system, all),
  ])
  return [...unsent, ...unpublished]
}

/**
 * Sends the dispatches, markers and looks of heads. A head that is due in a far minute is left to the EventBridge schedule of that minute.
 */
export function sendMessages(system: System, heads: readonly Head[]): Promise<PlanFailure[]> {
  return sendPlanned(system, plannedNow(system, heads))
}

function plannedNow({ clock }: System, heads: readonly Head[]): Planned[] {
  const now = clock.now()
  return heads.map(head => planned(head, now))
}

function tasksOf(all: readonly Planned[]): Planned<Task>[] {
  return all.filter((one): one is Planned<Task> => isTask(one.head))
}

/** Like `sendMessages`, for heads whose plans are decided already. */
async function sendPlanned(system: System, all: readonly Planned[]): Promise<PlanFailure[]> {
  const now = system.clock.now()
  const planned = tasksOf(all).flatMap(one => dispatchOf(one, now))
  const allowed = await Promise.all(planned.map(({ task }) => isWorkAllowed(system, task)))
  const dispatches = planned.filter((_one, nth) => allowed[nth])
  const looks = all.flatMap(one => lookOf(one, now))
  const canvasLooks = all.flatMap(one => canvasLookOf(one, now))
  const [unsentDispatches, unsentLooks, unsentCanvasLooks, unmarked] = await Promise.all([
    dispatches.length > 0 ? system.messages.dispatch(dispatches) : [],
    looks.length > 0 ? system.messages.look(looks) : [],
    canvasLooks.length > 0 ? system.messages.lookAtCanvases(canvasLooks) : [],
    markTargets(system, tasksOf(all)),
  ])
  return [
    ...unsentDispatches.map(({ index, ...why }) => ({ id: dispatches[index]?.task.id ?? '', ...why })),
    ...unsentLooks.map(({ index, ...why }) => ({ id: looks[index]?.id ?? '', ...why })),
    ...unsentCanvasLooks.map(({ index, ...why }) => ({ id: canvasLooks[index]?.id ?? '', ...why })),
    ...unmarked,
  ]
}

/** Whether deployment allows the work that the head names. Only a flow has work of other types, and only a webhook another type's function. */
async function isWorkAllowed(system: System, task: Task): Promise<boolean> {
  const { type, kind } = workOf(task)
  if (type === task.type && kind !== 'webhook') return true
  const typeOf = cachedTypeReader(system)
  if (mayDoWork(task, await Promise.all(rulingTypes(task).map(typeOf)))) return true
  const fields = { taskId: task.id, workType: type }
  system.log.warn('a task is not dispatched: its type may not have work of this type', fields)
  return false
}

/** The delay is rounded down to a whole second. The worker waits for the rest, so the whole seconds of SQS make no start late. */
function dispatchOf({ head: task, plan: { dispatchAt } }: Planned<Task>, now: number): Dispatch[] {
  if (dispatchAt === undefined) return []
  const delayMs = dispatchAt - now
  return [{ task, delaySeconds: Math.floor(Math.min(Math.max(0, delayMs), QUEUE_DELAY_MS_MAX) / 1_000) }]
}

/**
 * The next look at the task, if it needs one.
 *
 * The delay is rounded up, so a look never arrives before what it looks for. A look beyond the longest queue delay is sent with that delay,
 * and sent on when it arrives. Only a look for the due time is rounded down: the waker waits for the rest, so nothing starts late.
 */
export function lookOf({ head, plan: { lookAt } }: Planned, now: number, hops = 0): Look[] {
  if (lookAt === undefined) return []
  const delayMs = Math.min(Math.max(0, lookAt - now), QUEUE_DELAY_MS_MAX)
  const { id, born, revision } = head
  const rounded = lookAt === head.dueAt ? Math.floor : Math.ceil
  return [{ id, born, revision, hops, delaySeconds: rounded(delayMs / 1_000) }]
}

function canvasLookOf({ head, plan: { driveAt } }: Planned, now: number): CanvasLook[] {
  if (driveAt === undefined) return []
  const { id, born } = head
  return [{ id, born, from: 0, delaySeconds: Math.ceil(Math.max(0, driveAt - now) / 1_000) }]
}

/**
 * Makes sure that each far minute with tasks has its EventBridge schedule.
 *
 * An EventBridge schedule that cannot be created does not fail the tasks: the sweeper wakes each minute that has tasks and was not woken.
 * If Lambda delivered the stream batch again instead, the planner would send the messages of all other tasks again.
 */
async function ensureMinutes(
  { timers, metrics, log }: PlanningSystem,
  all: readonly Planned[],
): Promise<void> {
  const byMinute = groupBy(all, ({ plan }) => plan.minute)
  const ensured = [...byMinute].map(async ([minute, waiting]) => {
    if (minute === undefined) return
    try {
      await timers.ensureMinute(minute)
    } catch (error) {
      metrics.add('UnscheduledMinute', 1, EVERY_TYPE)
      log.warn('a far minute has no EventBridge schedule; the sweeper wakes the minute', {
        minute: minuteStart(minute),
        tasks: waiting.length,
        error,
      })
    }
  })
  await Promise.all(ensured)
}

const ONE_BY_ONE_AT_ONCE_MAX = 10

/**
 * Does the work for all tasks together. If that throws, one task may be at fault, so the work is done for each task
 * on its own, and only the faulty one is skipped. An outage concerns all tasks, so its error is thrown.
 */
export async function isolateFaults<H extends Head>(
  work: (system: PlanningSystem, heads: readonly H[]) => Promise<PlanFailure[]>,
  system: PlanningSystem,
  tasks: readonly H[],
): Promise<PlanFailure[]> {
  try {
    return await work(system, tasks)
  } catch (error) {
    if (isOutage(error)) throw error
    const [only, ...others] = tasks
    if (only && others.length === 0) return [failureOf(only.id, error)]
    const each = await sideBySide(tasks, ONE_BY_ONE_AT_ONCE_MAX, task => isolateFaults(work, system, [task]))
    return each.flat()
  }
}
