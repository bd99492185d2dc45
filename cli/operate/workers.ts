import type { ApiWorker } from '../../shared/api/types.ts'
import { type Context, printPages, withSystem } from '../connection/with-system.ts'
import type { DefineCommand } from '../terminal/command.ts'
import type { Column } from '../terminal/printer.ts'
import { relativeTime } from '../terminal/style.ts'

/** `baton workers`: the workers of the last day. The functions of a type are one entry. */
export const workers: DefineCommand = (command, invocation) => {
  withSystem(command, invocation, context => {
    const listing = { columns: workerColumns(context), none: 'there were no workers within the last day' }
    return printPages(context, page => context.client.workers(page), listing)
  })
}

function workerColumns({ printer: { style, now } }: Context): Array<Column<ApiWorker>> {
  return [
    { title: 'WORKER', value: ({ id }) => id, paint: style.bold },
    {
      title: 'STATE',
      value: ({ state }) => state,
      paint: text => (text.trim() === 'dead' ? style.red(text) : text),
    },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'VERSION', value: ({ version }) => version },
    { title: 'RUNNING', value: ({ running }) => running, isNumber: true },
    { title: 'LAST SEEN', value: ({ lastSeen }) => relativeTime(lastSeen, now()) },
    { title: 'TYPES', value: ({ types }) => types.join(', '), mayShrink: true },
  ]
}
