import { dueTicks } from '../../core/schedule/due-ticks.ts'
import { isTicking, noteTicked, tickKey } from '../../core/schedule/schedule.ts'
import { isSchedule } from '../../core/task/head.ts'
import type { PresentSchedule, Schedule } from '../../core/task/head-fields.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { ticksOfTiming } from '../../cron/cron-ticks.ts'
import { faultOf } from '../kernel/isolate-faults.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { readHead } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { type PublishOutcome, publishMany } from '../publish/publish.ts'
import { requestOfBody } from '../publish/request-of-body.ts'
import type { PublishRequest } from '../publish/resolve-publication.ts'
import { readScheduledTask } from './operate-schedule.ts'

/**
 * Publishes the due ticks of a schedule, then writes when it is due again. Returns whether anything was due.
 *
 * The key of a tick's task follows from the tick, and a key that exists is never published again. So a process that
 * dies between the two writes, or ticks at the same time as another process, does no harm. The head is read after the
 * clock, so a pause or removal that was acknowledged before a tick's time is always seen. Without `born`, the present
 * birth ticks.
 *
 * @throws BatonError when the store does not answer.
 */
export async function tickSchedule(
  system: System,
  { id, born }: { readonly id: string; readonly born?: string },
): Promise<{ readonly ticked: boolean; readonly task: Schedule | undefined }> {
  const now = system.clock.now()
  const head = await readHead(system, id, isSchedule)
  const isAnotherBirth = born !== undefined && head?.born !== born
  if (!head || isAnotherBirth || !isTicking(head) || head.dueAt > now) return { ticked: false, task: head }
  const { schedule, dueAt, createdAt } = head
  const due = dueTicks(ticksOfTiming(schedule.timing, createdAt), { ...schedule, from: dueAt }, now)
  const outcome = await publishTicks(system, head, due.publish)
  const { head: task } = await transact(
    system,
    head,
    ofSameBirth(head, current =>
      current.revision === head.revision
        ? noteTicked(current, { next: due.next, ...outcome }, system.clock.now())
        : OUTDATED,
    ),
  )
  return { ticked: true, task }
}

/** Another process has changed the schedule meanwhile. */
const OUTDATED = { ok: false, reason: 'outdated' } as const

type Published = { readonly ranAt: number | undefined; readonly error: TaskError | undefined }

/** Publishes the tasks of these ticks. A refused task stays unpublished: the schedule shows the error and goes on. */
async function publishTicks(
  system: System,
  head: PresentSchedule,
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
    system.log.error('the task of a tick was refused and is not published', { ...logFields(head), error })
  }
  return { ranAt: ticks.findLast((_tick, index) => outcomes[index]?.ok), error: errors.at(-1) }
}

/**
 * The tick is the due time, so a deadline counts from the tick: a task that is published too late to be useful
 * does not run.
 */
function requestOfTick({ id, key }: Schedule, body: PublishRequest, tick: number): PublishRequest {
  return { ...body, key: tickKey(key, tick), once: true, dueAt: tick, parentId: id }
}

/**
 * Why one tick's task is refused; undefined when it was published.
 *
 * @throws an error that does not concern this tick alone.
 */
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
