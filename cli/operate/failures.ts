import type { ApiFailureGroup } from '../../shared/api/diagnosis/failures.ts'
import { type DefineCommand, repeated, wholeNumber } from '../command.ts'
import { printPages } from '../system/print-pages.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import type { Column } from '../terminal/table.ts'
import { relativeTime, timeBefore } from '../terminal/times.ts'

type Options = {
  readonly type?: readonly string[]
  readonly since?: string
  readonly limit: number
  readonly all?: boolean
}

const DEFAULT_LIMIT = 20
const LIMIT_MAX = 10_000

/** `baton failures`: failures grouped by type and error, those with the most failures first. */
export const failures: DefineCommand = (command, invocation) => {
  command
    .option('--type <type>', 'failures of this type; may be repeated (default: of every type)', repeated)
    .option(
      '--since <time>',
      'failures from the hour of this time on, such as 6h; at most 7 days ago (default: 24h)',
      timeBefore(invocation.now()),
    )
    .option('--limit <n>', 'shows at most so many groups', wholeNumber(1, LIMIT_MAX), DEFAULT_LIMIT)
    .option('--all', 'shows all groups')
  withSystem(command, invocation, async (context, { type, since, limit, all }: Options) => {
    const query = { ...(type && { type: [...type] }), ...(since !== undefined && { since }) }
    await printPages(context, page => context.client.failures({ ...query, ...page }), {
      columns: columnsOf(context),
      none: 'no failures',
      ...(!all && { limit }),
    })
    return 0
  })
}

function columnsOf({ printer: { style, now } }: Context): Array<Column<ApiFailureGroup>> {
  return [
    { title: 'COUNT', value: ({ count }) => count, isNumber: true },
    { title: 'TYPE', value: ({ type }) => type, paint: style.bold },
    { title: 'FIRST', value: ({ firstAt }) => relativeTime(firstAt, now()) },
    { title: 'LAST', value: ({ lastAt }) => relativeTime(lastAt, now()) },
    { title: 'THE LAST TASK', value: ({ exampleId }) => exampleId },
    { title: 'ERROR', value: ({ error }) => error, paint: style.red, mayShrink: true },
  ]
}
