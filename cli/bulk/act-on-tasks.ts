/**
 * What `retry`, `cancel` and `remove` share: one call for each task, which the user names by ids or by a filter. With a filter the
 * command first selects and counts the tasks, and asks. Then it writes a report (`report.ts`), with which it can go on after an
 * interruption.
 */

import { randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { Client } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import type { Invocation } from '../terminal/command.ts'
import { confirm, FAILED_EXIT_CODE, INTERRUPTED_EXIT_CODE } from '../terminal/io.ts'
import { createProgress } from '../terminal/printer.ts'
import { oneLine } from '../terminal/style.ts'
import { addFilterOptions, type FilterOptions, filterOf, givenFilters } from './list-filter.ts'
import type { Report, ReportSettings, Selected } from './report.ts'
import { addReportOptions, createReport, reopenReport, reportName } from './report.ts'

/** What `retry`, `cancel` and `remove` do to each task. */
type TaskAction = {
  /** The name of the command. */
  readonly name: string
  /** Begins the question, such as `Remove`. */
  readonly verb: string
  /** What has happened to the task then, such as `removed`. */
  readonly done: string
  /** The statuses that are selected when the user names none. @default all */
  readonly defaultStatus?: NonNullable<FilterOptions['status']>
  /** Statuses of refusals that say that there is nothing left to do. @default none */
  readonly doneStatuses?: readonly number[]
  /** Options of the command that must be the same when it goes on with a report. @default none */
  readonly settings?: ReportSettings
  /** The words of the command that give these settings again. @default none */
  readonly words?: readonly string[]
  /** `ifRevision` is the revision of the selected task. The API refuses to change the task if a person has changed it since. */
  apply(client: Client, id: string, ifRevision?: number): Promise<unknown>
}

type BulkOptions = FilterOptions & {
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly report?: string
  readonly resume?: string
  readonly concurrency: number
}

/** One call of a command. */
type Acting = { readonly context: Context; readonly action: TaskAction; readonly options: BulkOptions }

/** Gives a command its ids, its filter and its action, which depends on further options of the command. */
export function actOnTasks<Options extends object>(
  command: Command,
  invocation: Invocation,
  actionOf: (options: Options) => TaskAction,
): void {
  command.argument('[ids...]', 'the ids of tasks, such as resize:img-1')
  addFilterOptions(command, invocation.now())
  const own = [
    new Option('--yes', 'does not ask'),
    new Option('--dry-run', 'only shows which tasks are meant'),
  ]
  addReportOptions(command, own, { what: 'calls', usual: 10, max: 100 })
  withSystem(command, invocation, (context, options: Options & BulkOptions, ids: readonly string[]) => {
    const acting = { context, action: actionOf(options), options }
    return ids.length === 0 ? actOnSelected(acting) : actOnIds(acting, ids)
  })
}

async function actOnIds({ context, action, options }: Acting, ids: readonly string[]): Promise<number> {
  refuseFilter(options)
  const { client, printer, io } = context
  let failed = 0
  await forEachConcurrently(ids, options.concurrency, io.signal, async id => {
    const problem = await action.apply(client, id).then(() => undefined, asProblem)
    // The only one is refused as any other call: with its fields, or as JSON.
    if (problem && ids.length === 1) throw problem
    if (problem) {
      failed += 1
      printer.warn(`${id} was not ${action.done}: ${problem.problem.detail}`)
    } else if (printer.isJson) printer.record({ id, [action.done]: true })
    else printer.line(`${printer.style.bold(oneLine(id))} ${action.done}`)
  })
  return failed > 0 ? FAILED_EXIT_CODE : 0
}

/** Refuses a filter beside ids: it would not be clear which tasks are meant. */
function refuseFilter(options: BulkOptions): void {
  const own = [options.resume !== undefined && '--resume', options.dryRun && '--dry-run'].filter(
    one => typeof one === 'string',
  )
  const given = [...givenFilters(options), ...own]
  if (given.length > 0) throw new BatonError('invalid', `give either ids or ${given.join(', ')}, not both`)
}

/** Selects the tasks of a filter, asks, and acts on each of them. With `--resume` it goes on with the tasks of a report. */
async function actOnSelected(acting: Acting): Promise<number> {
  const { context, action, options } = acting
  const resumed = reopened(acting)
  const tasks = resumed
    ? resumed.selected.filter(({ id }) => !resumed.succeeded.has(id))
    : await select(acting)
  if (options.dryRun) return showIds(context, tasks)
  if (tasks.length === 0) return showSummary(acting, { ok: 0, failed: 0 })
  if (!options.yes && !(await confirm(context.io, `${action.verb} ${countText(tasks)}?`))) {
    context.printer.warn('nothing was done')
    return FAILED_EXIT_CODE
  }
  const report = resumed ?? begun(acting)
  if (!resumed) report.select(tasks)
  return actOnEach(acting, tasks, report)
}

function countText({ length }: readonly unknown[]): string {
  return `${length} task${length === 1 ? '' : 's'}`
}

function reopened({ context: { url }, action, options }: Acting): Report | undefined {
  if (options.resume === undefined) return undefined
  const given = givenFilters(options)
  if (given.length > 0)
    throw new BatonError('invalid', `a report has its tasks: give either --resume or ${given.join(', ')}`)
  return reopenReport(options.resume, { action: action.name, url, settings: action.settings ?? {} })
}

function begun({ context: { url, io }, action, options }: Acting): Report {
  return createReport(options.report ?? reportName(action.name, io.now()), {
    action: action.name,
    url,
    at: new Date(io.now()).toISOString(),
    run: randomUUID(),
    selects: true,
    settings: action.settings ?? {},
  })
}

async function select({ context: { client, io }, action, options }: Acting): Promise<Selected[]> {
  const status = options.status ?? action.defaultStatus
  const filter = filterOf({ ...options, ...(status && { status }) })
  const progress = createProgress(io.err, io.now)
  const tasks: Selected[] = []
  for await (const { id, revision } of client.list({ ...filter, limit: 100 })) {
    tasks.push({ id, revision })
    progress.show(`selecting: ${tasks.length} tasks`)
  }
  progress.clear()
  return tasks
}

function showIds({ printer }: Context, tasks: readonly Selected[]): number {
  for (const { id } of tasks) printer.isJson ? printer.record({ id }) : printer.line(oneLine(id))
  printer.note(`${countText(tasks)} ${tasks.length === 1 ? 'is' : 'are'} meant; nothing was done`)
  return 0
}

type Tally = { ok: number; failed: number }

async function actOnEach(acting: Acting, tasks: readonly Selected[], report: Report): Promise<number> {
  const { context, action, options } = acting
  const { client, io } = context
  const tally: Tally = { ok: 0, failed: 0 }
  const progress = createProgress(io.err, io.now)
  const act = async ({ id, revision }: Selected) => {
    const problem = await action.apply(client, id, revision).then(() => undefined, asProblem)
    const isOk = !problem || (action.doneStatuses ?? []).includes(problem.status)
    tally[isOk ? 'ok' : 'failed'] += 1
    const why = problem && { status: problem.status, detail: problem.problem.detail }
    report.add({ ref: id, ok: isOk, ...why })
    const failures = tally.failed > 0 ? `, failed: ${tally.failed}` : ''
    progress.show(`${action.done}: ${tally.ok} of ${tasks.length}${failures}`)
  }
  const actOnAll = () =>
    forEachConcurrently(tasks, options.concurrency, io.signal, act).finally(() => progress.clear())
  const interrupted = await interruptible(
    context,
    actOnAll,
    () => `interrupted after ${tally.ok + tally.failed} of ${tasks.length}: ${resumption(acting, report)}`,
  )
  return interrupted ?? showSummary(acting, tally, report)
}

/** How to go on with a report: it takes only the settings with which it began. */
function resumption({ context, action, options }: Acting, { path }: Report): string {
  const settings = [...(action.words ?? []), ...(options.yes ? ['--yes'] : [])]
  return `go on with ${context.followUp(action.name, '--resume', path, ...settings)}`
}

function showSummary(acting: Acting, { ok, failed }: Tally, report?: Report): number {
  const { printer } = acting.context
  const { done } = acting.action
  const summary = { [done]: ok, failed, ...(report && { report: report.path }) }
  printer.answer(summary, `${ok} ${done}${failed > 0 ? `, ${failed} failed` : ''}`)
  if (report && failed > 0) printer.warn(`${report.path} says why; ${resumption(acting, report)}`)
  else if (report) printer.note(`the report is ${report.path}`)
  return failed > 0 ? FAILED_EXIT_CODE : 0
}

/** The problem of a refused call. Any other error is a fault of this program. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  throw error
}

/**
 * Calls `work` for each item, at most `concurrency` at a time, until `signal` aborts. An error ends it, after the calls under way have
 * ended.
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = iteratorOf(items)
  let isOver = false
  const lane = async () => {
    while (!isOver && !signal.aborted) {
      const next = await iterator()
      if (next.done) return
      await work(next.value)
    }
  }
  const lanes = Array.from({ length: concurrency }, () =>
    lane().catch(error => {
      isOver = true
      throw error
    }),
  )
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Takes items one after the other, also when several lanes ask at once. */
function iteratorOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): () => Promise<IteratorResult<Item>> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(() => iterator.next())
    last = next.catch(() => {})
    return next
  }
}

/**
 * Runs the calls of a command for many tasks, which begin no further call after a Ctrl-C. The process ends after the calls under way, so
 * that the report says how each of them ended, and `resumption` is printed. Returns the exit code after an interruption; otherwise
 * undefined.
 */
export async function interruptible(
  { io, printer }: Context,
  calls: () => Promise<void>,
  resumption: () => string,
): Promise<number | undefined> {
  const onInterrupt = () =>
    printer.note('interrupted: the calls under way end first; Ctrl-C again ends at once')
  io.signal.addEventListener('abort', onInterrupt, { once: true })
  const whole = calls().then(() => {
    if (io.signal.aborted) printer.warn(resumption())
  })
  io.endAfter(whole)
  try {
    await whole
  } finally {
    io.signal.removeEventListener('abort', onInterrupt)
  }
  return io.signal.aborted ? INTERRUPTED_EXIT_CODE : undefined
}
