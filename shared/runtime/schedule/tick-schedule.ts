import { dueTicks } from '../../core/schedule/due-ticks.ts'
import { isTicking, noteTicked, tickKey } from '../../core/schedule/schedule.ts'
import type { ScheduleState } from '../../core/task/schedule-state.ts'
import type { Task, TaskError } from '../../core/task/task.ts'
import { faultOf } from '../kernel/isolate-faults.ts'
import { transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import type { PublishRequest } from '../publish/publication-of.ts'
import { type PublishOutcome, publishMany } from '../publish/publish.ts'
import { requestOfBody } from '../publish/request-of-body.ts'
import { ticksOfTiming } from './cron-ticks.ts'
import { readScheduledTask } from './operate-schedule.ts'

/**
 * Publishes what the schedule owes, then writes when it is due again, and answers whether there was anything to do. The
 * key of a tick's task follows from the tick, and a key that is taken is never published again. So a process that dies
 * between the two writes, or ticks beside another, harms nothing. The head is read after the time of judging, so a pause
 * or removal that was acknowledged before a tick's time is always seen. Without `born`, the present birth ticks.
 *
 * @throws BatonError when the store does not answer.
 */
export async function tickSchedule(
  system: System,
  { id, born }: { readonly id: string; readonly born?: string },
): Promise<{ readonly ticked: boolean; readonly task: Task | undefined }> {
  const now = system.clock.now()
  const head = await system.tasks.head(id)
  const isAnother = born !== undefined && head?.born !== born
  if (!head || isAnother || !isTicking(head) || head.dueAt > now) return { ticked: false, task: head }
  const { schedule, dueAt, createdAt } = head
  const due = dueTicks(ticksOfTiming(schedule.timing, createdAt), { ...schedule, from: dueAt }, now)
  const outcome = await publishTicks(system, head, due.publish)
  const { task } = await transact(system, head, current =>
    current?.born === head.born && current.revision === head.revision
      ? noteTicked(current, { next: due.next, ...outcome }, system.clock.now())
      : { ok: false as const, reason: 'not-ticking' as const },
  )
  return { ticked: true, task }
}

type Published = { readonly ranAt: number | undefined; readonly error: TaskError | undefined }

/** What is refused for what it is stays unpublished: the schedule shows why, and goes on. */
async function publishTicks(
  system: System,
  head: Task & { readonly schedule: ScheduleState },
  ticks: readonly number[],
): Promise<Published> {
  if (ticks.length === 0) return { ranAt: undefined, error: head.error }
  const body = requestOfBody(await readScheduledTask(system, head))
  const outcomes = await publishMany(
    system,
    ticks.map(tick => requestOfTick(head, body, tick)),
  )
  const errors = outcomes.flatMap(outcome => errorOf(outcome) ?? [])
  for (const error of errors) {
    system.log.error('a tick publishes no task: it is refused', { ...logFields(head), error })
  }
  return { ranAt: ticks.findLast((_tick, index) => outcomes[index]?.ok), error: errors.at(-1) }
}

/** A deadline counts from the tick, too: what comes too late to be of use does not run. */
function requestOfTick({ id, key }: Task, body: PublishRequest, tick: number): PublishRequest {
  return { ...body, key: tickKey(key, tick), once: true, dueAt: tick, parentId: id }
}

/** @throws what is not about this tick alone. */
function errorOf(outcome: PublishOutcome): TaskError | undefined {
  if (outcome.ok) return undefined
  switch (outcome.reason) {
    case 'unknown-type':
      return {
        name: 'UnknownType',
        message: outcome.unknown
          .map(one => `${one.path}: '${one.type}' is not registered any more`)
          .join('; '),
      }
    case 'invalid':
      return {
        name: 'Invalid',
        message: outcome.problems.map(({ path, message }) => `${path} ${message}`).join('; '),
      }
    case 'running':
      return { name: 'Refused', message: `${outcome.task.id} is running` }
    case 'error':
      return { name: 'Refused', message: faultOf(outcome.error) }
  }
}
