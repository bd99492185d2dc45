import { type Command, Option } from 'commander'
import { ProblemError } from '../../shared/client/problem-error.ts'
import type { Invocation } from '../command.ts'
import { createPrinter, type Printer } from '../terminal/printer.ts'
import { reportFailure } from './failures.ts'
import { type FollowUp, followUpOf } from './follow-up.ts'
import { connect, type System, type SystemOptions, systemOptions } from './system.ts'

/** What the action of a command works with. */
export type Context = System & {
  readonly printer: Printer
  /** Writes a command for the same system, which a reader can paste. */
  readonly followUp: FollowUp
  /** The options by which the user named the system. */
  readonly options: SystemOptions
  readonly io: Invocation
}

type CommonOptions = SystemOptions & { readonly json?: boolean; readonly color?: boolean }

/**
 * Gives a command the options of every command that speaks to a system, and its action. The action may return an exit code. It
 * leaves errors of the client to this function, which prints them.
 */
export function withSystem<Options extends object, Args extends readonly unknown[]>(
  command: Command,
  invocation: Invocation,
  action: (context: Context, options: Options, ...args: Args) => Promise<number | undefined>,
): void {
  addCommonOptions(command).action(async (...given: unknown[]) => {
    const args = given.slice(0, -2) as unknown as Args
    const options = given.at(-2) as Options & CommonOptions
    const { json = false } = options
    const context = {
      ...(await connect(options, invocation)),
      printer: createPrinter(invocation, options),
      followUp: followUpOf(options),
      options,
      io: invocation,
    }
    try {
      invocation.exitWith((await action(context, options, ...args)) ?? 0)
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      invocation.exitWith(reportFailure(error, invocation, context, json))
    }
  })
}

function addCommonOptions(command: Command): Command {
  const group = 'Options of every command:'
  const options = [
    ...systemOptions(),
    new Option('--json', 'prints JSON: one document, or one a line for lists and streams'),
    new Option('--no-color', 'prints without colours (also: NO_COLOR)'),
  ]
  for (const option of options) command.addOption(option.helpGroup(group))
  command.addHelpOption(new Option('-h, --help', 'shows this help').helpGroup(group))
  return command
}
