import { Duration } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { JOBS_CONCURRENCY_MAX, JOBS_TIMEOUT_S } from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import type { Parts } from '../parts.ts'
import { concurrencyWithin } from '../queues/source-queue.ts'
import { PUBLISHER_ACCESS } from '../task-table.ts'
import { createFunction, reserving } from './functions.ts'

/** The function for work that may take minutes: resumes, changes of limits and order, purges, large canvases. */
export class Jobs extends Construct {
  readonly function: LambdaFunction

  constructor(scope: Construct, id: string, parts: Parts, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages } = parts
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'jobs'),
      description: 'Baton: works on long jobs: resumes, purges, large canvases',
      timeout: Duration.seconds(JOBS_TIMEOUT_S),
      // A job sends a message to continue itself. A purge of a million tasks takes more than 16 of them.
      allowRecursion: true,
      ...reserving(reservedConcurrency),
    })
    table.openTo(this.function, { items: PUBLISHER_ACCESS.items, queries: ['items', 'view', 'place'] })
    messages.openTo(this.function, { wakes: true, jobs: true, dispatchesTo: 'every-type' })
    messages.jobs.feed(this.function, {
      maxConcurrency: concurrencyWithin('jobs', JOBS_CONCURRENCY_MAX, reservedConcurrency),
    })
  }
}
