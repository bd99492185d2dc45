import type { ApiListedCanvas, CanvasesQuery } from '../../shared/api/canvases.ts'
import { CANVAS_STATUSES } from '../../shared/core/states.ts'
import { defined } from '../../shared/core/values/values.ts'
import { type Context, printPages, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, someOf } from '../terminal/command.ts'
import type { Column } from '../terminal/printer.ts'
import { relativeTime } from '../terminal/style.ts'

/** `baton canvases`: the canvases, the latest first. */
export const canvases: DefineCommand = (command, invocation) => {
  command.option('--status <status>', 'running, succeeded, failed or cancelled', someOf(CANVAS_STATUSES))
  withSystem(command, invocation, (context, { status }: CanvasesQuery) => {
    const listing = { columns: canvasColumns(context), none: 'there are no canvases', limit: CANVASES_MAX }
    return printPages(context, page => context.client.canvases({ ...defined({ status }), ...page }), listing)
  })
}

/** They may be many, and are kept for days. */
const CANVASES_MAX = 100

function canvasColumns({ printer: { style, now } }: Context): Array<Column<ApiListedCanvas>> {
  return [
    { title: 'CANVAS', value: ({ id }) => id, paint: style.bold },
    { title: 'FORM', value: ({ form }) => form },
    { title: 'STATUS', value: ({ status }) => status, paint: style.status },
    { title: 'ENDED', value: ({ ended, tasks }) => (ended === undefined ? '' : `${ended} of ${tasks}`) },
    { title: 'PUBLISHED', value: ({ createdAt }) => relativeTime(createdAt, now()) },
    { title: 'ERROR', value: ({ error }) => error?.message, paint: style.red, mayShrink: true },
  ]
}
