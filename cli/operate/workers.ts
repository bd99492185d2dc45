import type { ApiWorker } from '../../shared/api/workers.ts'
import type { DefineCommand } from '../command.ts'
import { printPages } from '../system/print-pages.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import type { Column } from '../terminal/table.ts'
import { relativeTime } from '../terminal/times.ts'

/** `baton workers`: the live workers. The functions of a type are one entry. */
export const workers: DefineCommand = (command, invocation) => {
  withSystem(command, invocation, async context => {
    const listing = { columns: columnsOf(context), none: 'no workers are live' }
    await printPages(context, page => context.client.workers(page), listing)
    return 0
  })
}

function columnsOf({ printer: { style, now } }: Context): Array<Column<ApiWorker>> {
  return [
    { title: 'WORKER', value: ({ id }) => id, paint: style.bold },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'VERSION', value: ({ version }) => version },
    { title: 'RUNNING', value: ({ running }) => running, isNumber: true },
    { title: 'LAST SEEN', value: ({ lastSeen }) => relativeTime(lastSeen, now()) },
    { title: 'TYPES', value: ({ types }) => types.join(', '), mayShrink: true },
  ]
}
