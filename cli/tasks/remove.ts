import { actOnTasks } from '../bulk/act-on-tasks.ts'
import type { DefineCommand } from '../command.ts'

/** A task of a filter may be gone when its turn comes. */
const GONE = 404

/** `baton remove`: by ids, or by a filter, which selects tasks of every status unless it names some. */
export const remove: DefineCommand = (command, invocation) => {
  actOnTasks(command, invocation, {
    name: 'remove',
    verb: 'Remove',
    done: 'removed',
    doneStatuses: [GONE],
    apply: (client, id, { ifRevision }) => client.remove(id, ifRevision === undefined ? {} : { ifRevision }),
  })
}
