#!/usr/bin/env node
/**
 * The command `baton`. Each command has a file of its own in this folder, which is loaded when the command is called. To add one,
 * export a `DefineCommand` from its file, and add it to `COMMANDS`.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong use. Output that scripts read goes to standard output, everything else to standard error.
 */

import module from 'node:module'
import { Command, CommanderError } from 'commander'
import { BatonError } from '../shared/core/errors.ts'
import type { DefineCommand } from './command.ts'
import { isWrongUse, say, WRONG_USE_EXIT_CODE } from './say.ts'

// The next start reuses this start's compiled code. Compiling is half of a worker's start. Node 20 has no such cache.
module.enableCompileCache?.()

type Listed = { readonly summary: string; load(): Promise<DefineCommand> }

const COMMANDS: Readonly<Record<string, Listed>> = {
  dev: {
    summary: 'runs the CDK app of this folder on this machine, and reloads what changes',
    load: async () => (await import('./dev.ts')).dev,
  },
  init: {
    summary: 'writes a task, a flow, a stack and a test into a folder; it overwrites no file',
    load: async () => (await import('./init.ts')).init,
  },
  worker: {
    summary: 'serves the tasks that a file exports, from their queues',
    load: async () => (await import('./worker.ts')).worker,
  },
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const program = await programFor(args)
  try {
    await program.parseAsync(args, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    return exitCodeOf(error)
  }
}

/** Lists every command for the help, and loads the one that is called. */
async function programFor(args: readonly string[]): Promise<Command> {
  const program = new Command('baton')
    .description('Baton: tasks on DynamoDB, SQS and Lambda, in your AWS account and on your machine')
    .helpOption('-h, --help', 'shows this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ outputError: text => process.stderr.write(text.replace(/^error: /, '')) })
  const called = args.find(arg => !arg.startsWith('-'))
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).summary(summary).description(`${name}: ${summary}`)
    command.helpOption('-h, --help', 'shows this help').showHelpAfterError(`(baton ${name} --help)`)
    if (name === called) (await load())(command)
  }
  return program.showHelpAfterError('(baton --help)')
}

/** Prints why a command did not succeed. Commander has printed its own errors already. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USE_EXIT_CODE
  say(error instanceof BatonError ? error.message : ((error as Error)?.stack ?? String(error)))
  return isWrongUse(error) ? WRONG_USE_EXIT_CODE : 1
}
