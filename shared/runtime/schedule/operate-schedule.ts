import type { ScheduledTask } from '../../api/schedules.ts'
import { type Decision, type Expected, isStale } from '../../core/change/change.ts'
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
import { isSchedule } from '../../core/task/head.ts'
import type { PresentSchedule, Schedule } from '../../core/task/head-fields.ts'
import type { Task } from '../../core/task/task.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import { readHead } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import type { OperateOutcome, RemoveOutcome } from '../operate/operate.ts'
import { type PublishOutcome, publish } from '../publish/publish.ts'
import { requestOfBody } from '../publish/request-of-body.ts'

const UNKNOWN = { ok: false, reason: 'unknown' } as const
const STALE = { ok: false, reason: 'stale' } as const

type PauseOutcome = OperateOutcome<'finished' | 'stale', Schedule>

/**
 * Pauses a schedule: when this returns, no tick that falls due later publishes anything. A tick that is due at the moment of
 * the pause may still publish its task just afterwards. Repeating the pause changes nothing.
 */
export function pauseSchedule(system: System, id: string, expected: Expected = {}): Promise<PauseOutcome> {
  return change(system, id, pause, expected)
}

/**
 * Resumes a schedule: it goes on with its next tick. Ticks that fell into the pause count as missed. Repeating
 * it changes nothing.
 */
export function resumeSchedule(system: System, id: string, expected: Expected = {}): Promise<PauseOutcome> {
  return change(system, id, resume, expected)
}

async function change(
  system: System,
  id: string,
  decide: (head: Schedule, now: number) => Decision<PauseRefusal, Schedule>,
  expected: Expected,
): Promise<PauseOutcome> {
  const { decision, head } = await transact(system, await readHead(system, id, isSchedule), current => {
    if (!isPresent(system, current)) return UNKNOWN
    return isStale(current, expected) ? STALE : decide(current, system.clock.now())
  })
  if (!head || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (decision.ok || decision.reason === 'nothing-to-change') return { ok: true, task: head }
  return { ok: false, reason: decision.reason, task: head }
}

/**
 * Removes a schedule: when this returns, readers do not find it, and no tick that falls due later publishes anything. A tick that is
 * due at the moment of the removal may still publish its task just afterwards.
 */
export async function removeSchedule(
  system: System,
  id: string,
  expected: Expected = {},
): Promise<RemoveOutcome<Schedule>> {
  const { decision, head } = await transact(system, await readHead(system, id, isSchedule), current => {
    if (!isPresent(system, current)) return UNKNOWN
    if (isStale(current, expected)) return STALE
    return { ok: true as const, change: remove<Schedule>(current, system.clock.now()) }
  })
  if (decision.ok) return { ok: true }
  return head && decision.reason === 'stale' ? { ...decision, task: head } : UNKNOWN
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
  const head = await readHead(system, id, isSchedule)
  if (!isPresent(system, head)) return UNKNOWN
  const body = await readScheduledTask(system, head)
  const ulid = system.chance.ulid(system.clock.now())
  const outcome = await publish(system, {
    ...requestOfBody(body),
    key: triggerKey(head.key, ulid),
    parentId: id,
  })
  if (!outcome.ok) return { ok: false, reason: 'refused', type: body.type, outcome }
  await recordTrigger(system, head)
  return { ok: true, task: outcome.task }
}

/** Records in the schedule that it was triggered. The task is published already, so a failure here is only logged. */
async function recordTrigger(system: System, head: Schedule): Promise<void> {
  try {
    await transact(
      system,
      head,
      ofSameBirth(head, current => noteTriggered(current, system.clock.now())),
    )
  } catch (error) {
    system.log.info('a schedule was triggered, but this could not be recorded in the schedule', {
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
  { id, input }: PresentSchedule,
): Promise<ScheduledTask> {
  const body = await bodyValue(system, id, input)
  if (body === undefined) throw new BatonError('unavailable', `the task of ${id} cannot be read`)
  return body as unknown as ScheduledTask
}

/** Whether the schedule exists and readers can find it. */
export function isPresent(system: System, head: Schedule | undefined): head is PresentSchedule {
  return head?.schedule !== undefined && !isGone(head, system.clock.now())
}
