import {
  ConflictException,
  CreateScheduleCommand,
  type SchedulerClient,
  ValidationException,
} from '@aws-sdk/client-scheduler'
import { MINUTE_LEAD_MS } from '../../core/bounds.ts'
import { BatonError } from '../../core/errors.ts'
import { minuteStart } from '../../core/place/place.ts'
import type { Clock } from '../../ports/machine.ts'
import type { FarTimers } from '../../ports/messages.ts'

export type ScheduleTarget = {
  readonly group: string
  readonly roleArn: string
  readonly queueArn: string
  readonly deadLetterArn: string
  /** The message that the schedule of a minute sends. */
  message(minute: number): string
}

/** Minutes this process has already made sure of; bounded, since a process may live for weeks. */
const MAX_REMEMBERED = 10_000
/** A schedule whose time is about to pass may be refused; it is set so far ahead. */
const MIN_AHEAD_MS = 60_000
/** After an outage the service is left alone for so long: a planner that waits for it in every batch falls behind. */
const SILENCE_MS = 10_000

/**
 * One EventBridge schedule per minute in which far tasks fall due, under a name made from the minute, deleted after it
 * fired. It fires two minutes early, because the service is only precise to a minute; the rest is SQS delay.
 */
export function createFarTimers(scheduler: SchedulerClient, clock: Clock, target: ScheduleTarget): FarTimers {
  const ensured = new Set<number>()
  let silentUntil = 0
  return {
    ensureMinute: async minute => {
      if (ensured.has(minute)) return
      if (silentUntil > clock.now()) throw new BatonError('unavailable', 'EventBridge Scheduler just failed')
      try {
        await createOnce(scheduler, clock, target, minute)
      } catch (error) {
        const isOut = error instanceof BatonError && error.code === 'unavailable'
        if (isOut) silentUntil = clock.now() + SILENCE_MS
        throw error
      }
      if (ensured.size >= MAX_REMEMBERED) ensured.clear()
      ensured.add(minute)
    },
  }
}

/** A request that is refused for what it is, not for the service's state. */
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
  const at = Math.max(minuteStart(minute) - MINUTE_LEAD_MS, clock.now() + MIN_AHEAD_MS)
  // Throws for a time that no calendar has: that is no outage, and does not pass.
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
