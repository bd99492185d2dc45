import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { required } from '../shared/aws/environment.ts'
import { systemClock } from '../shared/aws/machine.ts'
import type { PlanningSystem } from '../shared/runtime/system.ts'
import { createFarTimers } from '../shared/scheduler/far-timers.ts'
import { encodeMinute } from '../shared/sqs/wire.ts'
import { composeSystem } from './compose.ts'

/** The system of those who plan ahead; apart from `compose.ts`, so that others do not load the Scheduler's client. */
export function composePlanningSystem(): PlanningSystem {
  const timers = createFarTimers(new SchedulerClient({}), systemClock, {
    group: required('BATON_SCHEDULE_GROUP'),
    roleArn: required('BATON_SCHEDULE_ROLE_ARN'),
    queueArn: required('BATON_WAKE_QUEUE_ARN'),
    deadLetterArn: required('BATON_SCHEDULE_DLQ_ARN'),
    message: minute => encodeMinute({ minute }),
  })
  return { ...composeSystem(), timers }
}
