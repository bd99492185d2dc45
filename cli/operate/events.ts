import type { ApiEvent } from '../../shared/api/events.ts'
import { EVENT_TYPES, type EventType } from '../../shared/core/events/event-types.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, repeated, someOf } from '../terminal/command.ts'
import { oneLine } from '../terminal/style.ts'
import { clockText } from '../terminal/times.ts'

type EventsOptions = {
  readonly type?: readonly EventType[]
  readonly taskType?: readonly string[]
  readonly taskId?: readonly string[]
  readonly after?: string
}

/** `baton events`: until Ctrl-C. After a broken connection it goes on with the next event. */
export const events: DefineCommand = (command, invocation) => {
  command
    .option('--type <type>', `events of these types: ${EVENT_TYPES.join(', ')}`, someOf(EVENT_TYPES))
    .option('--task-type <type>', 'events about tasks of this type; may be repeated', repeated)
    .option('--task-id <id>', 'events about this task; may be repeated', repeated)
    .option('--after <id>', 'first the events since the one with this id')
  withSystem(command, invocation, async (context, options: EventsOptions) => {
    if (context.io.out.isTTY) context.printer.note('waiting for events; Ctrl-C ends')
    for await (const event of context.client.events(selectionOf(context, options))) print(context, event)
    return 0
  })
}

function selectionOf({ io }: Context, { type, taskType, taskId, after }: EventsOptions) {
  return {
    signal: io.signal,
    ...(type && { types: type }),
    ...(taskType && { taskTypes: taskType }),
    ...(taskId && { taskIds: taskId }),
    ...(after !== undefined && { lastEventId: after }),
  }
}

function print({ printer }: Context, event: ApiEvent): void {
  if (printer.isJson) {
    printer.record(event)
    return
  }
  const { style } = printer
  const [subject = '', happened = ''] = event.type.split('.')
  const { error, workerId, runId } = event
  const details = [
    event.taskId ?? workerId,
    runId && `run ${runId}`,
    event.taskId && workerId && `by ${workerId}`,
    error && `${error.name}: ${error.message}`,
  ].filter(text => text !== undefined && text !== '')
  printer.line(
    `${style.dim(clockText(Date.parse(event.at)))}  ${subject} ${style.status(happened)}  ${oneLine(details.join(', '))}`,
  )
}
