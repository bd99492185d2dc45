import type { PausedType } from '../../shared/api/types.ts'
import type { DefineCommand } from '../command.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import { oneLine } from '../terminal/safe-text.ts'

/** `baton pause`: when it ends, no task of the type can start any more. */
export const pause: DefineCommand = (command, invocation) => {
  command.argument('<type>', 'the name of a type')
  withSystem(command, invocation, async (context, _options: object, type: string) =>
    show(context, await context.client.pause(type)),
  )
}

/** `baton resume`: the counterpart of `baton pause`. */
export const resume: DefineCommand = (command, invocation) => {
  command.argument('<type>', 'the name of a type')
  withSystem(command, invocation, async (context, _options: object, type: string) =>
    show(context, await context.client.resume(type)),
  )
}

function show({ printer }: Context, answer: PausedType): number {
  const { type, paused } = answer
  if (printer.isJson) printer.document(answer)
  else printer.line(`${printer.style.bold(oneLine(type))} is ${paused ? 'paused' : 'active'}`)
  return 0
}
