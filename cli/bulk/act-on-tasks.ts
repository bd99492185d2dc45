/**
 * What `retry`, `cancel` and `remove` share: one call for each task, which the user names by ids or by a filter. With a filter the
 * command first selects and counts the tasks, and asks (`act-on-selected.ts`). Then it writes a report (`report.ts`), with which it
 * can go on after an interruption.
 */

import type { Command } from 'commander'
import type { Invocation } from '../command.ts'
import { FAILED_EXIT_CODE } from '../say.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import { addFilterOptions, type FilterOptions } from '../tasks/list-filter.ts'
import { oneLine } from '../terminal/safe-text.ts'
import { actOnSelected, addBulkOptions, type BulkOptions, refuseFilter } from './act-on-selected.ts'
import { forEachConcurrently } from './for-each.ts'
import { asProblem, type TaskAction } from './task-action.ts'

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
