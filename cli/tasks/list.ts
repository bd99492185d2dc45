import { type DefineCommand, wholeNumber } from '../command.ts'
import { printPages } from '../system/print-pages.ts'
import { withSystem } from '../system/with-system.ts'
import { addFilterOptions, type FilterOptions, filterOf } from './list-filter.ts'
import { taskColumns } from './task-columns.ts'

type Options = FilterOptions & {
  readonly limit: number
  readonly all?: boolean
}

const DEFAULT_LIMIT = 20
const LIMIT_MAX = 1_000_000

/** `baton list`: tasks in a table, or a line of JSON for each. */
export const list: DefineCommand = (command, invocation) => {
  command.argument('[type]', 'tasks of this type')
  addFilterOptions(command, invocation.now())
  command
    .option('--limit <n>', 'shows at most so many tasks', wholeNumber(1, LIMIT_MAX), DEFAULT_LIMIT)
    .option('--all', 'shows all tasks')
  withSystem(command, invocation, async (context, options: Options, named?: string) => {
    const type = [...(named === undefined ? [] : [named]), ...(options.type ?? [])]
    const filter = filterOf({ ...options, ...(type.length > 0 && { type }) })
    await printPages(context, page => context.client.listPage({ ...filter, ...page }), {
      columns: taskColumns(context.printer),
      none: 'no tasks',
      ...(!options.all && { limit: options.limit }),
    })
    return undefined
  })
}
