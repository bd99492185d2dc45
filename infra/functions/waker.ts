import { Duration } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { WAKER_CONCURRENCY_MAX, WAKER_TIMEOUT_S } from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import { watchLookLoops } from '../monitoring/alarms.ts'
import type { Parts } from '../parts.ts'
import { concurrencyWithin } from '../queues/source-queue.ts'
import { PUBLISHER_ACCESS } from '../task-table.ts'
import { createFunction, reserving } from './functions.ts'

/**
 * The function that serves the wake queue. It looks at tasks when a lease, a timeout or a deadline ends. It also dispatches
 * tasks that were due further ahead than an SQS delay reaches (15 minutes).
 */
export class Waker extends Construct {
  readonly function: LambdaFunction

  constructor(scope: Construct, id: string, parts: Parts, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages, events } = parts
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'waker'),
      description: 'Baton: looks at tasks and dispatches them when they are due',
      timeout: Duration.seconds(WAKER_TIMEOUT_S),
      // The waker sends a look that arrives too early again, once per lease of a long run. The message counts these hops.
      allowRecursion: true,
      ...reserving(reservedConcurrency),
    })
    table.openTo(this.function, {
      items: PUBLISHER_ACCESS.items,
      queries: ['items', 'view', 'place'],
    })
    messages.openTo(this.function, {
      wakes: true,
      jobs: true,
      dispatchesTo: 'every-type',
      measures: ['types'],
    })
    // The planner sends events that it could not publish to the wake queue.
    events.openTo(this.function)
    watchLookLoops(this, settings)
    messages.wake.feed(this.function, {
      maxConcurrency: concurrencyWithin('waker', WAKER_CONCURRENCY_MAX, reservedConcurrency),
    })
  }
}
