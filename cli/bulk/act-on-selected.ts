import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { Option } from 'commander'
import { BatonError } from '../../shared/core/errors.ts'
import { FAILED_EXIT_CODE } from '../say.ts'
import type { Context } from '../system/with-system.ts'
import { type FilterOptions, filterOf } from '../tasks/list-filter.ts'
import { confirm } from '../terminal/confirm.ts'
import { createProgress } from '../terminal/progress.ts'
import { oneLine } from '../terminal/safe-text.ts'
import { forEachConcurrently } from './for-each.ts'
import { createReport, type Report, reopenReport, reportName } from './report.ts'
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
  const { io, printer } = context
  const resumed = options.resume === undefined ? undefined : reopened(context, action, options.resume)
  const selected = resumed
    ? resumed.selected
    : await select(context, { ...options, ...statusOf(action, options) })
  const ids = resumed ? selected.filter(id => !resumed.succeeded.has(id)) : selected
  if (options.dryRun) return showIds(context, ids)
  if (ids.length === 0) return showSummary(context, action, { ok: 0, failed: 0 })
  const count = `${ids.length} task${ids.length === 1 ? '' : 's'}`
  const isSure = options.yes || (await confirm(io, `${action.verb} ${count}?`))
  if (!isSure) {
    printer.warn('nothing was done')
    return FAILED_EXIT_CODE
  }
  const report = resumed ?? begun(context, action, options.report)
  if (!resumed) report.select(ids)
  return showSummary(context, action, await actOnEach(context, action, options, ids, report), report)
}

function statusOf(action: { readonly defaultStatus?: FilterOptions['status'] }, { status }: FilterOptions) {
  const chosen = status ?? action.defaultStatus
  return chosen === undefined ? {} : { status: chosen }
}

function reopened({ url }: Context, { name }: { readonly name: string }, path: string): Report {
  return reopenReport(path, { action: name, url, settings: {} })
}

function begun({ url, io }: Context, { name }: { readonly name: string }, path: string | undefined): Report {
  const header = { action: name, url, at: new Date(io.now()).toISOString(), run: randomUUID(), settings: {} }
  return createReport(path ?? reportName(name, io.now()), header)
}

async function select({ client, io }: Context, options: FilterOptions): Promise<string[]> {
  const progress = createProgress(io.err, io.now)
  const ids: string[] = []
  for await (const { id } of client.list({ ...filterOf(options), limit: 100 })) {
    ids.push(id)
    progress.show(`selecting: ${ids.length} tasks`)
  }
  progress.clear()
  return ids
}

function showIds({ printer }: Context, ids: readonly string[]): number {
  for (const id of ids) printer.isJson ? printer.record({ id }) : printer.line(oneLine(id))
  printer.note(`${ids.length} tasks are meant; nothing was done`)
  return 0
}

type Tally = { ok: number; failed: number }

async function actOnEach<Options extends object>(
  { client, io, printer }: Context,
  action: TaskAction<Options>,
  options: Options & BulkOptions,
  ids: readonly string[],
  report: Report,
): Promise<Tally> {
  const tally: Tally = { ok: 0, failed: 0 }
  const progress = createProgress(io.err, io.now)
  const onInterrupt = () => {
    progress.clear()
    printer.warn(
      `interrupted after ${tally.ok + tally.failed} of ${ids.length}: ${resumption(action.name, report)}`,
    )
  }
  io.signal.addEventListener('abort', onInterrupt, { once: true })
  await forEachConcurrently(ids, options.concurrency, io.signal, async id => {
    const problem = await action.apply(client, id, options).then(() => undefined, asProblem)
    const isOk = !problem || (action.doneStatuses ?? []).includes(problem.status)
    tally[isOk ? 'ok' : 'failed'] += 1
    report.add({
      ref: id,
      ok: isOk,
      ...(problem && { status: problem.status, detail: problem.problem.detail }),
    })
    progress.show(
      `${action.done}: ${tally.ok} of ${ids.length}${tally.failed ? `, failed: ${tally.failed}` : ''}`,
    )
  })
  io.signal.removeEventListener('abort', onInterrupt)
  progress.clear()
  return tally
}

/** How to go on with a report. */
function resumption(name: string, { path }: Report): string {
  return `go on with baton ${name} --resume ${path}`
}

function showSummary(
  { printer }: Context,
  { name, done }: { readonly name: string; readonly done: string },
  { ok, failed }: Tally,
  report?: Report,
): number {
  const path = report && { report: report.path }
  if (printer.isJson) printer.document({ [done]: ok, failed, ...path })
  else printer.line(`${ok} ${done}${failed > 0 ? `, ${failed} failed` : ''}`)
  if (report && failed > 0) printer.warn(`${report.path} says why; ${resumption(name, report)}`)
  else if (report) printer.note(`the report is ${report.path}`)
  return failed > 0 ? FAILED_EXIT_CODE : 0
}

/** Refuses a filter beside ids: it would not be clear which tasks are meant. */
export function refuseFilter({
  type,
  status,
  userId,
  canvasId,
  resume,
  dryRun,
}: FilterOptions & BulkOptions): void {
  const isGiven = [type, status, userId, canvasId, resume, dryRun].some(one => one !== undefined)
  if (isGiven) throw new BatonError('invalid', 'give either ids or a filter, not both')
}
