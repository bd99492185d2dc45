import { Option } from 'commander'
import type { RetryTaskBody } from '../../shared/api/changes.ts'
import { actOnTasks } from '../bulk/act-on-tasks.ts'
import { type DefineCommand, someOf } from '../command.ts'

type Options = Pick<RetryTaskBody, 'action' | 'clean'>

const ACTIONS = ['restart', 'retry-do', 'retry-undo', 'skip-undo', 'continue', 'retry-callbacks']
const CLEANED = ['failed', 'succeeded'] as const

/** `baton retry`: by ids, or by a filter, which then selects failed tasks unless it names other statuses. */
export const retry: DefineCommand = (command, invocation) => {
  command
    .addOption(new Option('--action <action>', 'what a failed flow does (default: restart)').choices(ACTIONS))
    .option(
      '--clean <state>',
      'the ended runs that a restart forgets: failed, succeeded (default: both)',
      someOf(CLEANED),
    )
  actOnTasks<Options>(command, invocation, {
    name: 'retry',
    verb: 'Retry',
    done: 'retried',
    defaultStatus: ['failed'],
    settings: ({ action, clean }) => ({ retry: action, clean: clean?.join() }),
    words: ({ action, clean }) => [
      ...(action === undefined ? [] : ['--action', action]),
      ...(clean === undefined ? [] : ['--clean', clean.join()]),
    ],
    apply: (client, id, { action, clean, ifRevision }) =>
      client.retry(id, {
        ...(action && { action }),
        ...(clean && { clean }),
        ...(ifRevision !== undefined && { ifRevision }),
      }),
  })
}
