import { Command, CommanderError } from 'commander'
import { BatonError } from '../../shared/core/values/values.ts'
import type { Invocation } from '../terminal/command.ts'
import { FAILED_EXIT_CODE, type Io, isWrongUse, ownVersion, WRONG_USE_EXIT_CODE } from '../terminal/io.ts'
import { COMMANDS, type Listed } from './commands.ts'

/**
 * Runs the command that the arguments name, and returns the exit code of the process. `endAtOnce` is called before a command
 * that does not handle Ctrl-C and a closed output by itself.
 */
export async function runBaton(
  args: readonly string[],
  io: Io,
  endAtOnce: () => void = () => {},
): Promise<number> {
  let exitCode: number | undefined
  const exitWith = (code: number) => {
    exitCode = code
  }
  const invocation: Invocation = { ...io, exitWith }
  try {
    const called = args.find(arg => !arg.startsWith('-')) ?? ''
    const program = await programFor(called, invocation)
    if (!listedAs(called)?.handlesInterrupts) endAtOnce()
    await program.parseAsync(args, { from: 'user' })
    return exitCode ?? Number(process.exitCode ?? 0)
  } catch (error) {
    return exitCodeOf(error, io)
  }
}

/** The listed command of this name. Names of inherited members, such as `constructor`, are none. */
function listedAs(name: string): Listed | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
}

/** Lists every command for the help, and loads the one that is called. */
async function programFor(called: string, invocation: Invocation): Promise<Command> {
  const { out, err } = invocation
  const program = new Command('baton')
    .description('Baton: tasks on DynamoDB, SQS and Lambda, in your AWS account and on your machine')
    .helpOption('-h, --help', 'shows this help')
    .version(ownVersion(), '-V, --version', 'shows the version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: out.write,
      writeErr: err.write,
      outputError: text => err.write(text.replace(/^error: /, '')),
      getOutHelpWidth: () => out.columns ?? HELP_COLUMNS,
      getErrHelpWidth: () => err.columns ?? HELP_COLUMNS,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  for (const [name, listed] of Object.entries(COMMANDS)) {
    const command = program.command(name).helpGroup(listed.group)
    describe(command, listed)
    if (name === called) (await listed.load())(command, invocation)
  }
  return program.showHelpAfterError('(baton --help)')
}

const HELP_COLUMNS = 100

function describe(command: Command, { summary, examples }: Listed): void {
  const name = command.name()
  command
    .summary(summary)
    .description(`${name}: ${summary}`)
    .helpOption('-h, --help', 'shows this help')
    .showHelpAfterError(`(baton ${name} --help)`)
    .addHelpText('after', `\nExamples:\n${examples.map(example => `  ${example}`).join('\n')}`)
}

/** Prints why a command did not succeed. Commander has printed its own errors already. */
function exitCodeOf(error: unknown, { err }: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USE_EXIT_CODE
  err.write(`${error instanceof BatonError ? error.message : ((error as Error)?.stack ?? String(error))}\n`)
  return isWrongUse(error) ? WRONG_USE_EXIT_CODE : FAILED_EXIT_CODE
}
