import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { requiredVariable } from '../../shared/aws/environment.ts'
import { systemClock } from '../../shared/aws/machine.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { createFarTimers } from '../../shared/aws/scheduler/far-timers.ts'
import { encodeMinute } from '../../shared/aws/sqs/wire.ts'
import type { PlanningSystem } from '../../shared/runtime/kernel/system.ts'
import { composeSystem } from './compose.ts'

/**
 * Scheduler throttles beyond 250 to 5,000 new schedules a second, by region. The SDK waits for a random share of 0.5, 1, 2
 * and 4 s between its attempts, some 4 s in all, while the planner's shard waits; what fails even then comes again with
 * its batch of the stream, and in the end the sweeper wakes the minute without a schedule.
 */
const PATIENTLY = {
  maxAttempts: 5,
  retryMode: 'standard',
} as const

/** The system of those who plan ahead; apart from `compose.ts`, so that others do not load the Scheduler's client. */
export function composePlanningSystem(): PlanningSystem {
  const timers = createFarTimers(
    withConnectionQueue(requestHandler => new SchedulerClient({ ...PATIENTLY, requestHandler })),
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
