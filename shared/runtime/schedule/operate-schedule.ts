import type { ScheduledTask } from '../../api/schedules.ts'
import type { Decision } from '../../core/change/change.ts'
import { BatonError } from '../../core/errors.ts'
import { remove } from '../../core/operate/operate.ts'
import { isGone } from '../../core/publish/publish.ts'
import {
  noteTriggered,
  type PauseRefusal,
  pauseSchedule as pause,
  resumeSchedule as resume,
  triggerKey,
} from '../../core/schedule/schedule.ts'
import type { Task } from '../../core/task/task.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import type { System } from '../kernel/system.ts'
import type { OperateOutcome } from '../operate/operate.ts'
import { type PublishOutcome, publish } from '../publish/publish.ts'
import { requestOfBody } from '../publish/request-of-body.ts'

const UNKNOWN = { ok: false, reason: 'unknown' } as const

/** Pauses a schedule: when this returns, no tick publishes anything. Repeating it changes nothing. */
export function pauseSchedule(system: System, id: string): Promise<OperateOutcome<'finished'>> {
  return change(system, id, pause)
}

/**
 * Resumes a schedule: it goes on with its next tick. Ticks that fell into the pause count as missed. Repeating
 * it changes nothing.
 */
export function resumeSchedule(system: System, id: string): Promise<OperateOutcome<'finished'>> {
  return change(system, id, resume)
}

async function change(
  system: System,
  id: string,
  decide: (task: Task, now: number) => Decision<PauseRefusal>,
): Promise<OperateOutcome<'finished'>> {
  const { decision, task } = await transact(system, await system.tasks.head(id), current =>
    isPresent(system, current) ? decide(current, system.clock.now()) : UNKNOWN,
  )
  if (!task || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (!decision.ok && decision.reason === 'finished') return { ok: false, reason: 'finished', task }
  return { ok: true, task }
}

/** Removes a schedule: readers do not find it, and no tick publishes anything, from now on. */
export async function removeSchedule(
  system: System,
  id: string,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: 'unknown' }> {
  const { decision } = await transact(system, await system.tasks.head(id), current =>
    isPresent(system, current) ? { ok: true as const, change: remove(current, system.clock.now()) } : UNKNOWN,
  )
  return decision.ok ? { ok: true } : UNKNOWN
}

export type Triggered =
  | { readonly ok: true; readonly task: Task }
  | { readonly ok: false; readonly reason: 'unknown' }
  | {
      readonly ok: false
      readonly reason: 'refused'
      readonly type: string
      readonly outcome: Extract<PublishOutcome, { ok: false }>
    }

/**
 * Publishes the task of a schedule now, independent of its ticks. This also works for a schedule that is paused
 * or has ended.
 */
export async function triggerSchedule(system: System, id: string): Promise<Triggered> {
  const head = await system.tasks.head(id)
  if (!isPresent(system, head)) return UNKNOWN
  const body = await readScheduledTask(system, head)
  const ulid = system.chance.ulid(system.clock.now())
  const outcome = await publish(system, {
    ...requestOfBody(body),
    key: triggerKey(head.key, ulid),
    parentId: id,
  })
  if (!outcome.ok) return { ok: false, reason: 'refused', type: body.type, outcome }
  await recordRun(system, head)
  return { ok: true, task: outcome.task }
}

/** Records the run in the schedule. The task is published already, so a failure here is only logged. */
async function recordRun(system: System, head: Task): Promise<void> {
  try {
    await transact(
      system,
      head,
      ofSameBirth(head, current => noteTriggered(current, system.clock.now())),
    )
  } catch (error) {
    system.log.info('a schedule was run, and the run could not be recorded in it', {
      scheduleId: head.id,
      error,
    })
  }
}

/**
 * Reads the publish body of a schedule's task.
 *
 * @throws BatonError `unavailable` when it cannot be read.
 */
export async function readScheduledTask(
  system: Pick<System, 'tasks'>,
  { id, input }: Task,
): Promise<ScheduledTask> {
  const body = input && (await bodyValue(system, id, input))
  if (body === undefined) throw new BatonError('unavailable', `the task of ${id} cannot be read`)
  return body as unknown as ScheduledTask
}

function isPresent(system: System, task: Task | undefined): task is Task {
  return task?.schedule !== undefined && !isGone(task, system.clock.now())
}
