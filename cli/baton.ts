#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { BatonError } from '../shared/core/errors.ts'

// The next start finds this one's code compiled: half a worker's start is that.
enableCompileCache()

/** One command: a file beside this one. */
type Command = { readonly usage: string; run(args: readonly string[]): Promise<void> }

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  worker: async () => (await import('./worker.ts')).worker,
}

const WRONG_USE = 2

const [name = '', ...args] = process.argv.slice(2)
const command = Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]?.() : undefined
if (command) await obey(command)
else refuse(`baton <command>\ncommands: ${Object.keys(COMMANDS).join(', ')}`)

async function obey({ usage, run }: Command): Promise<void> {
  try {
    await run(args)
  } catch (error) {
    if (isMistake(error)) return refuse(`${error.message}\n${usage}`)
    console.error(error)
    process.exit(1)
  }
}

/** What the one who typed it can mend: an unknown option, a file that is not there, a variable that is not set. */
function isMistake(error: unknown): error is Error {
  if (error instanceof BatonError) return true
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('ERR_PARSE_ARGS')
}

function refuse(message: string): void {
  console.error(message)
  process.exitCode = WRONG_USE
}
