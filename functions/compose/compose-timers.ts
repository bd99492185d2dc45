import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { requiredVariable } from '../../shared/aws/environment.ts'
import { systemClock } from '../../shared/aws/machine.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { createFarTimers } from '../../shared/aws/scheduler/far-timers.ts'
import { encodeMinute } from '../../shared/aws/sqs/wire.ts'
import type { PlanningSystem } from '../../shared/runtime/kernel/system.ts'
import { composeSystem } from './compose.ts'

/**
 * How the Scheduler client retries. Scheduler throttles above 250 to 5,000 new schedules a second, by region. Between its
 * attempts the SDK waits for a random share of 0.5, 1, 2 and 4 s, about 4 s in all, while the planner's shard waits. After
 * the last attempt the stream delivers the batch again. If that fails too, the sweeper wakes the minute without a schedule.
 */
const RETRIES = {
  maxAttempts: 5,
  retryMode: 'standard',
} as const

/**
 * The system of functions that plan far ahead. It is separate from `compose.ts`, so that other functions do not load the
 * Scheduler client.
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
  return { ...composeSystem(), timers }
}
