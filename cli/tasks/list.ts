import { Option } from 'commander'
import type { ListFilter } from '../../shared/api/tasks.ts'
import { type DefineCommand, wholeNumber } from '../command.ts'
import { printPages } from '../system/print-pages.ts'
import { withSystem } from '../system/with-system.ts'
import { addFilterOptions, type FilterOptions, filterOf } from './list-filter.ts'
import { taskColumns } from './task-columns.ts'

type Options = FilterOptions & {
  readonly order?: NonNullable<ListFilter['order']>
  readonly limit: number
  readonly all?: boolean
}

const DEFAULT_LIMIT = 20
const LIMIT_MAX = 1_000_000
const ORDERS = ['due', '-due', 'created', '-created', 'ended', '-ended']

/** `baton list`: tasks in a table, or a line of JSON for each. */
export const list: DefineCommand = (command, invocation) => {
  command.argument('[type]', 'tasks of this type')
  addFilterOptions(command)
  command
    .addOption(new Option('--order <order>', 'how the tasks are sorted').choices(ORDERS))
    .option('--limit <n>', 'shows at most so many tasks', wholeNumber(1, LIMIT_MAX), DEFAULT_LIMIT)
    .option('--all', 'shows all tasks')
  withSystem(command, invocation, async (context, options: Options, type?: string) => {
    const { order, all, limit } = options
    const filter = filterOf({ ...options, ...(type !== undefined && { type }) })
    await printPages(
      context,
      page => context.client.listPage({ ...filter, ...(order && { order }), ...page }),
      {
        columns: taskColumns(context.printer),
        none: 'no tasks',
        ...(!all && { limit }),
      },
    )
    return undefined
  })
}
