import type { ApiTask } from '../../shared/api/tasks.ts'
import { addFilterOptions, type FilterOptions, filterOf } from '../bulk/list-filter.ts'
import { printPages, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, durationOption, wholeNumber } from '../terminal/command.ts'
import type { Column, Printer } from '../terminal/printer.ts'
import { relativeTime } from '../terminal/style.ts'
import { contentLines, taskLines } from './task-view.ts'

type ListOptions = FilterOptions & {
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
    .option('--limit <n>', 'shows at most this many tasks', wholeNumber(1, LIMIT_MAX), DEFAULT_LIMIT)
    .option('--all', 'shows all tasks')
  withSystem(command, invocation, async (context, options: ListOptions, named?: string) => {
    const type = [...(named === undefined ? [] : [named]), ...(options.type ?? [])]
    const filter = filterOf({ ...options, ...(type.length > 0 && { type }) })
    await printPages(context, page => context.client.listPage({ ...filter, ...page }), {
      columns: taskColumns(context.printer),
      none: 'no tasks',
      ...(!options.all && { limit: options.limit }),
    })
  })
}

/** The columns of every list of tasks. */
export function taskColumns({ style, now }: Printer): Array<Column<ApiTask>> {
  return [
    { title: 'ID', value: ({ id }) => id, paint: style.bold },
    {
      title: 'STATUS',
      value: ({ status, statusReason }) => (statusReason ? `${status} (${statusReason})` : status),
      paint: (text, { status }) => text.replace(status, style.status(status)),
    },
    { title: 'RUNS', value: ({ attempts }) => attempts.used, isNumber: true },
    { title: 'CREATED', value: ({ createdAt }) => relativeTime(createdAt, now()) },
    {
      title: 'DUE OR ENDED',
      value: ({ dueAt, finishedAt }) => relativeTime(finishedAt ?? dueAt, now()),
    },
    {
      title: 'ERROR',
      value: ({ error }) => error && `${error.name}: ${error.message}`,
      paint: text => (text === '-' ? text : style.red(text)),
      mayShrink: true,
    },
  ]
}

/** `baton get`: one task with everything that the API shows of it. */
export const get: DefineCommand = (command, invocation) => {
  command.argument('<id>', 'the id of a task, such as resize:img-1')
  withSystem(command, invocation, async ({ client, printer, io, followUp }, _options: object, id: string) => {
    const task = await client.get(id)
    const viewing = { style: printer.style, now: printer.now(), columns: io.out.columns, followUp }
    printer.answer(task, ...taskLines(task, viewing), ...contentLines(task, viewing))
  })
}

const RESULT_TIMEOUT_MS = 30_000

type ResultOptions = { readonly timeout: number }

/** `baton result`: prints the result as JSON. A task that failed, or did not end in time, ends it with code 1. */
export const result: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the end', RESULT_TIMEOUT_MS))
  withSystem(command, invocation, async ({ client, printer, io }, { timeout }: ResultOptions, id: string) => {
    printer.document((await client.result(typeOf(id), id, { timeoutMs: timeout, signal: io.signal })) ?? null)
  })
}

function typeOf(id: string): string {
  return id.split(':', 1)[0] ?? ''
}
