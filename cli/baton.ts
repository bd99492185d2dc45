#!/usr/bin/env node
import module from 'node:module'
import { BatonError } from '../shared/core/errors.ts'

// The next start reuses this start's compiled code, where Node can (22 and later). Compiling is half of a worker's start.
module.enableCompileCache?.()

/** One command. Each command has a file of its own in this folder. */
type Command = { readonly usage: string; run(args: readonly string[]): Promise<void> }

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  worker: async () => (await import('./worker.ts')).worker,
}

/** The exit code for a mistake on the command line. */
const WRONG_USE_EXIT_CODE = 2

const [name = '', ...args] = process.argv.slice(2)
const command = Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]?.() : undefined
if (command) await execute(command)
else refuse(`baton <command>\ncommands: ${Object.keys(COMMANDS).join(', ')}`)

async function execute({ usage, run }: Command): Promise<void> {
  try {
    await run(args)
  } catch (error) {
    if (isUserMistake(error)) return refuse(`${error.message}\n${usage}`)
    console.error(error)
    process.exit(1)
  }
}

/** Whether the user can correct the error: an unknown option, a missing file, a variable that is not set. */
function isUserMistake(error: unknown): error is Error {
  if (error instanceof BatonError) return true
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('ERR_PARSE_ARGS')
}

function refuse(message: string): void {
  console.error(message)
  process.exitCode = WRONG_USE_EXIT_CODE
}
