import { type DefineCommand, durationOption } from '../command.ts'
import { withSystem } from '../system/with-system.ts'
import { watchTask } from './watch-task.ts'
import { watchType } from './watch-type.ts'

type Options = { readonly interval: number }

const DEFAULT_INTERVAL_MS = 1_000

/**
 * `baton watch`: a task or a flow until its end, or a type until the user interrupts. On a terminal it draws in place, otherwise it
 * prints a line for each change.
 */
export const watch: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1, or the name of a type')
    .addOption(durationOption('--interval <duration>', 'how often it looks', DEFAULT_INTERVAL_MS))
  withSystem(command, invocation, (context, { interval }: Options, id: string) =>
    // The name of a type has no colon.
    id.includes(':') ? watchTask(context, id, interval) : watchType(context, id, interval),
  )
}
