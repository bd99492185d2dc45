import { Option } from 'commander'
import type { RetryTaskBody } from '../../shared/api/changes.ts'
import { BULK_STATUSES } from '../../shared/core/states.ts'
import { actOnTasks } from '../bulk/act-on-tasks.ts'
import { type DefineCommand, someOf } from '../terminal/command.ts'

type RetryOptions = Pick<RetryTaskBody, 'action' | 'clean'>

const ACTIONS = ['restart', 'retry-do', 'retry-undo', 'skip-undo', 'continue', 'retry-callbacks']
const CLEANED = ['failed', 'succeeded'] as const

/** `baton retry`: by ids, or by a filter, which then selects failed tasks unless it names other statuses. */
export const retry: DefineCommand = (command, invocation) => {
  command
    .addOption(
      new Option(
        '--action <action>',
        'what to do again (default: of a failed flow what has failed; a plain task restarts)',
      ).choices(ACTIONS),
    )
    .option(
      '--clean <state>',
      'the ended runs that a restart forgets: failed, succeeded (default: both)',
      someOf(CLEANED),
    )
  actOnTasks(command, invocation, ({ action, clean }: RetryOptions) => ({
    name: 'retry',
    verb: 'Retry',
    done: 'retried',
    defaultStatus: ['failed'],
    ofOne: [...(action ? ['--action'] : []), ...(clean ? ['--clean'] : [])],
    apply: (client, id) => client.retry(id, { ...(action && { action }), ...(clean && { clean }) }),
  }))
}

/** `baton cancel`: by ids, or by a filter, which then selects open tasks only. */
export const cancel: DefineCommand = (command, invocation) => {
  actOnTasks(command, invocation, () => ({
    name: 'cancel',
    verb: 'Cancel',
    done: 'cancelled',
    defaultStatus: BULK_STATUSES.cancel,
    apply: (client, id) => client.cancel(id),
  }))
}

/** `baton remove`: by ids, or by a filter, which selects tasks of every status unless it names some. */
export const remove: DefineCommand = (command, invocation) => {
  actOnTasks(command, invocation, () => ({
    name: 'remove',
    verb: 'Remove',
    done: 'removed',
    defaultStatus: BULK_STATUSES.remove,
    apply: (client, id) => client.remove(id),
  }))
}
