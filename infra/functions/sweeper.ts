import { Duration } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler'
import { Construct } from 'constructs'
import { SWEEP_EVENT_AGE_S_MAX, SWEEP_RETRIES_MAX, SWEEPER_TIMEOUT_S } from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import { watchInvocations, watchStuckTasks } from '../monitoring/alarms.ts'
import type { Parts } from '../parts.ts'
import type { FarTimers } from '../queues/far-timers.ts'
import { PUBLISHER_ACCESS } from '../task-table.ts'
import { createFunction, reserving } from './functions.ts'

/** The function that repairs, every minute, what lost messages have left behind. It also collects the messages that were given up. */
export class Sweeper extends Construct {
  readonly function: LambdaFunction

  constructor(scope: Construct, id: string, parts: Parts, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages, timers } = parts
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'sweeper'),
      description: 'Baton: repairs what lost messages left behind',
      timeout: Duration.seconds(SWEEPER_TIMEOUT_S),
      failsSilently: true,
      ...reserving(reservedConcurrency),
    })
    // A failed round is not retried: the next round begins within a minute and would overlap with the retry.
    this.function.configureAsyncInvoke({
      retryAttempts: 0,
      maxEventAge: Duration.seconds(SWEEP_EVENT_AGE_S_MAX),
    })
    table.openTo(this.function, {
      items: PUBLISHER_ACCESS.items,
      queries: ['items', 'view', 'place'],
    })
    messages.openTo(this.function, {
      wakes: true,
      jobs: true,
      dispatchesTo: 'every-type',
      measures: ['types', 'jobs'],
    })
    messages.deadLetters.openTo(this.function)
    timers.openTo(this.function)
    this.scheduleRounds(timers)
    watchInvocations(this, settings, this.function)
    watchStuckTasks(this, settings)
  }

  private scheduleRounds(timers: FarTimers): void {
    const role = timers.createRole('ScheduleRole', this)
    role.addToPolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [this.function.functionArn] }),
    )
    const schedule = new CfnSchedule(this, 'Schedule', {
      groupName: timers.group.ref,
      scheduleExpression: 'rate(1 minute)',
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: this.function.functionArn,
        roleArn: role.roleArn,
        retryPolicy: {
          maximumRetryAttempts: SWEEP_RETRIES_MAX,
          maximumEventAgeInSeconds: SWEEP_EVENT_AGE_S_MAX,
        },
        deadLetterConfig: { arn: timers.undelivered.queueArn },
      },
    })
    schedule.node.addDependency(role)
  }
}
