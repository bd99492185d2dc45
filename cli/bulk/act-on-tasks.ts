/**
 * What `retry`, `cancel` and `remove` share: one call for each task, which the user names by ids or by a filter. With a filter the
 * command first selects and counts the tasks, and asks. Then it writes a report (`report.ts`), with which it can go on after an
 * interruption.
 */

import { randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { Client } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import type { Invocation } from '../terminal/command.ts'
import { confirm, FAILED_EXIT_CODE } from '../terminal/io.ts'
import { createProgress } from '../terminal/printer.ts'
import { oneLine } from '../terminal/style.ts'
import { forEachConcurrently, interruptible } from './for-each.ts'
import { addFilterOptions, type FilterOptions, filterOf, givenFilters } from './list-filter.ts'
import {
  addReportOptions,
  createReport,
  type Report,
  type ReportSettings,
  reopenReport,
  reportName,
  type Selected,
} from './report.ts'

/** Gives a command its ids, its filter and its action. */
export function actOnTasks<Options extends object>(
  command: Command,
  invocation: Invocation,
  action: TaskAction<Options>,
): void {
  command.argument('[ids...]', 'the ids of tasks, such as resize:img-1')
  addFilterOptions(command, invocation.now())
  addBulkOptions(command)
  type Given = Options & FilterOptions & BulkOptions
  withSystem(command, invocation, async (context, options: Given, ids: readonly string[]) => {
    if (ids.length === 0) return actOnSelected(context, action, options)
    refuseFilter(options)
    return actOnIds(context, action, options, ids)
  })
}

async function actOnIds<Options extends object>(
  { client, printer, io }: Context,
  action: TaskAction<Options>,
  options: Options & BulkOptions,
  ids: readonly string[],
): Promise<number> {
  let failed = 0
  await forEachConcurrently(ids, options.concurrency, io.signal, async id => {
    const problem = await action.apply(client, id, options).then(() => undefined, asProblem)
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

type BulkOptions = {
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly report?: string
  readonly resume?: string
  readonly concurrency: number
}

function addBulkOptions(command: Command): void {
  const own = [
    new Option('--yes', 'does not ask'),
    new Option('--dry-run', 'only shows which tasks are meant'),
  ]
  addReportOptions(command, own, { what: 'calls', usual: 10, max: 100 })
}

/** Selects the tasks of a filter, asks, and acts on each of them. With `--resume` it goes on with the tasks of a report. */
async function actOnSelected<Options extends object>(
  context: Context,
  action: TaskAction<Options>,
  options: Options & FilterOptions & BulkOptions,
): Promise<number> {
  const resumed = reopened(context, action, options)
  const tasks = resumed
    ? resumed.selected.filter(({ id }) => !resumed.succeeded.has(id))
    : await select(context, { ...options, ...statusOf(action, options) })
  if (options.dryRun) return showIds(context, tasks)
  if (tasks.length === 0) return showSummary(context, action, options, { ok: 0, failed: 0 })
  if (!options.yes && !(await confirm(context.io, `${action.verb} ${countText(tasks)}?`))) {
    context.printer.warn('nothing was done')
    return FAILED_EXIT_CODE
  }
  const report = resumed ?? begun(context, action, options)
  if (!resumed) report.select(tasks)
  return actOnEach(context, action, options, tasks, report)
}

function countText({ length }: readonly unknown[]): string {
  return `${length} task${length === 1 ? '' : 's'}`
}

function statusOf(action: { readonly defaultStatus?: FilterOptions['status'] }, { status }: FilterOptions) {
  const chosen = status ?? action.defaultStatus
  return chosen === undefined ? {} : { status: chosen }
}

function reopened<Options extends object>(
  { url }: Context,
  action: TaskAction<Options>,
  options: Options & FilterOptions & BulkOptions,
): Report | undefined {
  if (options.resume === undefined) return undefined
  const given = givenFilters(options)
  if (given.length > 0)
    throw new BatonError('invalid', `a report has its tasks: give either --resume or ${given.join(', ')}`)
  return reopenReport(options.resume, {
    action: action.name,
    url,
    settings: action.settings?.(options) ?? {},
  })
}

function begun<Options extends object>(
  { url, io }: Context,
  action: TaskAction<Options>,
  options: Options & BulkOptions,
): Report {
  return createReport(options.report ?? reportName(action.name, io.now()), {
    action: action.name,
    url,
    at: new Date(io.now()).toISOString(),
    run: randomUUID(),
    selects: true,
    settings: action.settings?.(options) ?? {},
  })
}

async function select({ client, io }: Context, options: FilterOptions): Promise<Selected[]> {
  const progress = createProgress(io.err, io.now)
  const tasks: Selected[] = []
  for await (const { id, revision } of client.list({ ...filterOf(options), limit: 100 })) {
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

async function actOnEach<Options extends object>(
  context: Context,
  action: TaskAction<Options>,
  options: Options & BulkOptions,
  tasks: readonly Selected[],
  report: Report,
): Promise<number> {
  const { client, io } = context
  const tally: Tally = { ok: 0, failed: 0 }
  const progress = createProgress(io.err, io.now)
  const act = async ({ id, revision }: Selected) => {
    const call = action.apply(client, id, { ...options, ifRevision: revision })
    const problem = await call.then(() => undefined, asProblem)
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
    () =>
      `interrupted after ${tally.ok + tally.failed} of ${tasks.length}: ${resumption(context, action, options, report)}`,
  )
  return interrupted ?? showSummary(context, action, options, tally, report)
}

/** How to go on with a report: it takes only the settings with which it began. */
function resumption<Options extends object>(
  { followUp }: Context,
  { name, words }: TaskAction<Options>,
  options: Options & BulkOptions,
  { path }: Report,
): string {
  const settings = [...(words?.(options) ?? []), ...(options.yes ? ['--yes'] : [])]
  return `go on with ${followUp(name, '--resume', path, ...settings)}`
}

function showSummary<Options extends object>(
  context: Context,
  action: TaskAction<Options>,
  options: Options & BulkOptions,
  { ok, failed }: Tally,
  report?: Report,
): number {
  const { printer } = context
  const { done } = action
  const path = report && { report: report.path }
  if (printer.isJson) printer.document({ [done]: ok, failed, ...path })
  else printer.line(`${ok} ${done}${failed > 0 ? `, ${failed} failed` : ''}`)
  if (report && failed > 0)
    printer.warn(`${report.path} says why; ${resumption(context, action, options, report)}`)
  else if (report) printer.note(`the report is ${report.path}`)
  return failed > 0 ? FAILED_EXIT_CODE : 0
}

/** Refuses a filter beside ids: it would not be clear which tasks are meant. */
function refuseFilter(options: FilterOptions & BulkOptions): void {
  const own = [options.resume !== undefined && '--resume', options.dryRun && '--dry-run'].filter(
    one => typeof one === 'string',
  )
  const given = [...givenFilters(options), ...own]
  if (given.length > 0) throw new BatonError('invalid', `give either ids or ${given.join(', ')}, not both`)
}

/** What `retry`, `cancel` and `remove` do to each task. */
type TaskAction<Options> = {
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
  settings?(options: Options): ReportSettings
  /** The words of the command that give these settings again. @default none */
  words?(options: Options): readonly string[]
  /** `ifRevision` is the revision of the selected task. The API refuses to change the task if a person has changed it since. */
  apply(client: Client, id: string, options: Options & { readonly ifRevision?: number }): Promise<unknown>
}

/** The problem of a refused call. Any other error is a fault of this program. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  throw error
}
