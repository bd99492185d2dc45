import { actOnTasks } from '../bulk/act-on-tasks.ts'
import type { DefineCommand } from '../command.ts'

/** `baton cancel`: by ids, or by a filter, which then selects open tasks only. */
export const cancel: DefineCommand = (command, invocation) => {
  actOnTasks(command, invocation, {
    name: 'cancel',
    verb: 'Cancel',
    done: 'cancelled',
    defaultStatus: ['delayed', 'ready', 'running', 'compensating'],
    apply: (client, id, { ifRevision }) => client.cancel(id, ifRevision === undefined ? {} : { ifRevision }),
  })
}
