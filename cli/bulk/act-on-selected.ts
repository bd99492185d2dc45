import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { Option } from 'commander'
import { BatonError } from '../../shared/core/errors.ts'
import { FAILED_EXIT_CODE } from '../say.ts'
import type { Context } from '../system/with-system.ts'
import { type FilterOptions, filterOf, givenFilters } from '../tasks/list-filter.ts'
import { confirm } from '../terminal/confirm.ts'
import { createProgress } from '../terminal/progress.ts'
import { oneLine } from '../terminal/safe-text.ts'
import { forEachConcurrently } from './for-each.ts'
import { interruptible } from './interruptible.ts'
import { createReport, type Report, reopenReport, reportName, type Selected } from './report.ts'
import { addReportOptions } from './report-options.ts'
import { asProblem, type TaskAction } from './task-action.ts'

export type BulkOptions = {
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly report?: string
  readonly resume?: string
  readonly concurrency: number
}

export function addBulkOptions(command: Command): void {
  const own = [
    new Option('--yes', 'does not ask'),
    new Option('--dry-run', 'only shows which tasks are meant'),
  ]
  addReportOptions(command, own, { what: 'calls', usual: 10, max: 100 })
}

/** Selects the tasks of a filter, asks, and acts on each of them. With `--resume` it goes on with the tasks of a report. */
export async function actOnSelected<Options extends object>(
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
export function refuseFilter(options: FilterOptions & BulkOptions): void {
  const own = [options.resume !== undefined && '--resume', options.dryRun && '--dry-run'].filter(
    one => typeof one === 'string',
  )
  const given = [...givenFilters(options), ...own]
  if (given.length > 0) throw new BatonError('invalid', `give either ids or ${given.join(', ')}, not both`)
}
