import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { requiredVariable, systemClock } from '../../shared/aws/environment.ts'
import { createFarTimers } from '../../shared/aws/far-timers.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { encodeMinute } from '../../shared/aws/sqs/wire.ts'
import type { PlanningSystem } from '../../shared/runtime/kernel/system.ts'
import { composeSystem } from './compose.ts'
import { composeActivityStore } from './compose-activity.ts'

/**
 * Scheduler throttles above 250 to 5,000 new schedules a second, by region. After a throttled attempt the SDK waits a random
 * part of 0.5, 1, 2 and 4 s, on average about 4 s in all. The planner's shard waits meanwhile. When the last attempt fails,
 * the sweeper wakes the minute without an EventBridge schedule.
 */
const RETRIES = {
  maxAttempts: 5,
  retryMode: 'standard',
} as const

/**
 * Composes the system of a function that plans further ahead than an SQS delay reaches (15 minutes). This file is separate
 * from `compose.ts`, so that other functions do not load the Scheduler client.
 */
export function composePlanningSystem(): PlanningSystem {
  const timers = createFarTimers(
    withConnectionQueue(requestHandler => new SchedulerClient({ ...RETRIES, requestHandler })),
    systemClock,
    {
      group: requiredVariable('BATON_SCHEDULE_GROUP'),
      roleArn: requiredVariable('BATON_SCHEDULE_ROLE_ARN'),
      queueArn: requiredVariable('BATON_WAKE_QUEUE_ARN'),
      deadLetterArn: requiredVariable('BATON_SCHEDULE_DLQ_ARN'),
      message: minute => encodeMinute({ minute }),
    },
  )
  return { ...composeSystem(), activity: composeActivityStore(), timers }
}
