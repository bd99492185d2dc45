import type { ApiRun, ApiStep, ApiTask, ListFilter } from '../../shared/api/tasks.ts'
import { areOpen } from '../../shared/core/states.ts'
import { addFilterOptions, type FilterOptions, filterOf } from '../bulk/list-filter.ts'
import type { FollowUp, LimitOptions } from '../connection/with-system.ts'
import { addLimitOptions, printPages, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, durationOption } from '../terminal/command.ts'
import { type Column, type Printer, tableLines } from '../terminal/printer.ts'
import { durationText, oneLine, relativeTime, type Style, safeJson, safeLines } from '../terminal/style.ts'

/** The commands that read tasks, and how they show a task. */

type ListOptions = FilterOptions & LimitOptions

/** `baton list`: tasks in a table, or a line of JSON for each. */
export const list: DefineCommand = (command, invocation) => {
  command.argument('[type]', 'tasks of this type')
  addFilterOptions(command, invocation.now())
  addLimitOptions(command, ' tasks')
  withSystem(command, invocation, async (context, options: ListOptions, named?: string) => {
    const type = [...(named === undefined ? [] : [named]), ...(options.type ?? [])]
    const filter = newestFirst(filterOf({ ...options, ...(type.length > 0 && { type }) }))
    await printPages(context, page => context.client.listPage({ ...filter, ...page }), {
      columns: taskColumns(context.printer),
      none: 'no tasks',
      limit: options.limit,
      all: options.all,
    })
  })
}

/** `baton search`: tasks by an id, a key, a user, a tag or the text of an error. */
export const search: DefineCommand = (command, invocation) => {
  command.argument('<text>', 'an id, a key, a user, a tag such as team=red, or a part of an error')
  addLimitOptions(command, ' tasks')
  withSystem(command, invocation, (context, { limit, all }: LimitOptions, q: string) => {
    const listing = { columns: taskColumns(context.printer), none: 'no tasks', limit, all }
    return printPages(context, page => context.client.searchPage({ q, ...page }), listing)
  })
}

/** Lists show the newest tasks first, in an order that an index has, whatever the number of tasks. Members of a canvas keep their order. */
function newestFirst(filter: ListFilter): ListFilter {
  const { userId, canvasId, status = [], order } = filter
  if (order !== undefined || userId !== undefined || canvasId !== undefined) return filter
  return { ...filter, order: areOpen([status].flat()) ? '-due' : '-ended' }
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
    { title: 'DUE OR ENDED', value: ({ dueAt, finishedAt }) => relativeTime(finishedAt ?? dueAt, now()) },
    { title: 'ERROR', value: ({ error }) => errorText(error), paint: style.red, mayShrink: true },
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

/** How a task is shown. */
export type Viewing = {
  readonly style: Style
  readonly now: number
  /** Columns of the terminal. Without it no cell is cut. */
  readonly columns?: number | undefined
  readonly followUp: FollowUp
}

/** A task in lines: what it is, its steps, its runs, and why it failed. Input and result are not among them. */
export function taskLines(task: ApiTask, viewing: Viewing): string[] {
  const { steps = [], runs, error } = task
  return [
    ...factLines(factsOf(task, viewing), viewing.style),
    ...(steps.length > 0 ? section('Steps', tableLines(stepColumns(viewing), steps, viewing), viewing) : []),
    ...(runs.length > 0 ? section('Runs', tableLines(runColumns(viewing), runs, viewing), viewing) : []),
    ...(error ? section('Error', errorLines(error, viewing), viewing) : []),
  ]
}

/** Input, result, and the log of the last failed run of a task. */
export function contentLines({ input, result, runs }: ApiTask, viewing: Viewing): string[] {
  const log = runs.findLast(run => run.log !== undefined)?.log
  return [
    ...(input === undefined ? [] : section('Input', jsonLines(input), viewing)),
    ...(result === undefined ? [] : section('Result', jsonLines(result), viewing)),
    ...(log === undefined ? [] : section('Log of the last failed run', safeLines(log.trimEnd()), viewing)),
  ]
}

type Fact = readonly [name: string, text: string | undefined]

/** Lines of names and texts below each other. A fact without a text is left out. */
export function factLines(facts: readonly Fact[], style: Style): string[] {
  const shown = facts.filter(([, text]) => text !== undefined && text !== '')
  const width = Math.max(0, ...shown.map(([name]) => name.length)) + 2
  return shown.map(([name, text]) => `${style.dim(name.padEnd(width))}${text}`)
}

function factsOf(task: ApiTask, { style, now, followUp }: Viewing): Fact[] {
  const at = (time: string | undefined) => time && `${time}  ${style.dim(relativeTime(time, now))}`
  const { status, statusReason, attempts } = task
  const tags = Object.entries(task.tags ?? {}).map(([name, value]) => `${name}=${value}`)
  return [
    ['id', style.bold(oneLine(task.id))],
    ['status', style.status(status) + (statusReason ? ` (${statusReason})` : '')],
    [
      'attention',
      task.needsAttention && style.red(`needs an operator: see ${oneLine(followUp('doctor', task.id))}`),
    ],
    ['step', task.step && oneLine(`${task.direction === 'undo' ? 'undo ' : ''}${task.step}`)],
    ['stage', task.stage && oneLine(task.stage)],
    ['attempts', `${attempts.used} used, ${attempts.left} left`],
    ['priority', task.priority === 0 ? undefined : String(task.priority)],
    ['user', task.userId && oneLine(task.userId)],
    ['tags', oneLine(tags.join(' '))],
    ['canvas', task.canvasId && oneLine(task.canvasId)],
    ['parent', task.parentId && oneLine(task.parentId)],
    ['created', at(task.createdAt)],
    ['due', task.finishedAt ? undefined : at(task.dueAt)],
    ['started', at(task.startedAt)],
    ['finished', at(task.finishedAt)],
    ['kept until', at(task.expiresAt)],
    ['changes', changesText(task)],
  ]
}

function changesText({ operations = [] }: ApiTask): string | undefined {
  const last = operations.at(-1)
  return last && oneLine(`${operations.length}; the last one: ${last.what} by ${last.by} at ${last.at}`)
}

function section(title: string, lines: readonly string[], { style }: Viewing): string[] {
  return ['', style.bold(title), ...lines.map(line => `  ${line}`)]
}

function stepColumns({ style, now }: Viewing): Array<Column<ApiStep>> {
  return [
    { title: 'STEP', value: ({ name }) => name },
    { title: 'STATE', value: ({ state }) => state, paint: style.status },
    { title: 'RUNS', value: ({ attempts, undo }) => attempts + (undo?.attempts ?? 0), isNumber: true },
    { title: 'TOOK', value: step => tookText(step, now) },
    { title: 'ENDED', value: ({ endedAt }) => relativeTime(endedAt, now) },
    { title: 'ERROR', value: ({ error, undo }) => errorText(undo?.error ?? error), mayShrink: true },
  ]
}

function runColumns({ style, now }: Viewing): Array<Column<ApiRun>> {
  return [
    { title: 'RUN', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state, paint: style.status },
    { title: 'WORKER', value: ({ workerId }) => workerId },
    { title: 'STARTED', value: ({ startedAt }) => relativeTime(startedAt, now) },
    { title: 'TOOK', value: run => tookText(run, now) },
    { title: 'PROGRESS OR ERROR', value: run => progressText(run), mayShrink: true },
  ]
}

function progressText({ error, progress }: ApiRun): string | undefined {
  return errorText(error) ?? (progress === undefined ? undefined : JSON.stringify(progress))
}

export function errorText(error: ApiRun['error']): string | undefined {
  return error && `${error.name}: ${error.message}`
}

type Timed = { readonly startedAt?: string; readonly endedAt?: string }

function tookText({ startedAt, endedAt }: Timed, now: number): string | undefined {
  if (startedAt === undefined) return undefined
  const until = endedAt === undefined ? now : Date.parse(endedAt)
  return durationText(Math.max(0, until - Date.parse(startedAt)))
}

function errorLines(error: NonNullable<ApiTask['error']>, { style }: Viewing): string[] {
  const { name, message, stack, causes = [] } = error
  const causeLines = causes.map(cause => `caused by ${cause.name}: ${cause.message}`)
  const [first = '', ...more] = safeLines(stack ?? `${name}: ${message}`)
  return [style.red(first), ...more.map(style.dim), ...causeLines.flatMap(safeLines)]
}

function jsonLines(value: unknown): string[] {
  return safeJson(value, 2).split('\n')
}
