import type { SchedulerClient } from '@aws-sdk/client-scheduler'
import { ConflictException, CreateScheduleCommand, ValidationException } from '@aws-sdk/client-scheduler'
import { MINUTE_LEAD_MS } from '../core/bounds.ts'
import { minuteStart } from '../core/place/place.ts'
import { BatonError } from '../core/values/values.ts'
import type { Clock } from '../ports/machine.ts'
import type { FarTimers } from '../ports/messages.ts'

export type ScheduleTarget = {
  readonly group: string
  readonly roleArn: string
  readonly queueArn: string
  readonly deadLetterArn: string
  /** The message that the EventBridge schedule of a minute sends. */
  message(minute: number): string
}

/** Minutes that a process remembers as scheduled. The number is bounded, because a process may live for weeks. */
const REMEMBERED_MINUTES_MAX = 10_000
/** An EventBridge schedule is set at least this far ahead. The service may refuse a schedule whose time is about to pass. */
const AHEAD_MS_MIN = 60_000
/** After an outage no request is sent for this long. A planner that waited for the service in every batch would fall behind. */
const OUTAGE_PAUSE_MS = 10_000

/**
 * Creates one EventBridge schedule for each minute in which tasks fall due that are further ahead than an SQS delay reaches (15
 * minutes). The schedule is named by its minute, and the service deletes it after it fired. It fires two minutes early, because the
 * service is only precise to a minute. The waker then delays the dispatches by SQS.
 */
export function createFarTimers(scheduler: SchedulerClient, clock: Clock, target: ScheduleTarget): FarTimers {
  const ensured = new Set<number>()
  let pausedUntil = 0
  return {
    ensureMinute: async minute => {
      if (ensured.has(minute)) return
      if (pausedUntil > clock.now())
        throw new BatonError('unavailable', 'EventBridge Scheduler failed within the last 10 s')
      try {
        await createOnce(scheduler, clock, target, minute)
      } catch (error) {
        const isOut = error instanceof BatonError && error.code === 'unavailable'
        if (isOut) pausedUntil = clock.now() + OUTAGE_PAUSE_MS
        throw error
      }
      if (ensured.size >= REMEMBERED_MINUTES_MAX) ensured.clear()
      ensured.add(minute)
    },
  }
}

/** Whether the service refuses the request itself. All other errors are outages. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof ValidationException || (error instanceof Error && error.name === 'AccessDeniedException')
  )
}

async function createOnce(
  scheduler: SchedulerClient,
  clock: Clock,
  target: ScheduleTarget,
  minute: number,
): Promise<void> {
  const at = Math.max(minuteStart(minute) - MINUTE_LEAD_MS, clock.now() + AHEAD_MS_MIN)
  // `toISOString` throws for a time after the last `Date`. That error is not an outage, so it is thrown as it is.
  const time = new Date(at).toISOString().slice(0, 19)
  try {
    await scheduler.send(
      new CreateScheduleCommand({
        Name: `minute-${minute}`,
        GroupName: target.group,
        ScheduleExpression: `at(${time})`,
        ScheduleExpressionTimezone: 'UTC',
        FlexibleTimeWindow: { Mode: 'OFF' },
        ActionAfterCompletion: 'DELETE',
        Target: {
          Arn: target.queueArn,
          RoleArn: target.roleArn,
          Input: target.message(minute),
          DeadLetterConfig: { Arn: target.deadLetterArn },
        },
      }),
    )
  } catch (error) {
    if (error instanceof ConflictException) return
    throw isRefusal(error)
      ? error
      : new BatonError('unavailable', 'EventBridge Scheduler does not answer', { cause: error })
  }
}
