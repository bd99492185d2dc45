#!/usr/bin/env node
/** `npm create baton-tasks [FOLDER]`: writes the starter into the folder, or into this one. */

import { packageManager, report, scaffold, UnusableFolder } from './scaffold.ts'

const USAGE =
  'npm create baton-tasks [FOLDER]\n  writes a task, a flow, a stack and a test; it overwrites no file'

const WRONG_USE_EXIT_CODE = 2

const [folder = '.', another] = process.argv.slice(2)

if (folder === '--help' || folder === '-h') console.log(USAGE)
else if (another !== undefined || folder.startsWith('-')) refuse(USAGE)
else create(folder)

function create(into: string): void {
  try {
    const manager = packageManager(process.env.npm_config_user_agent)
    console.log(report(scaffold(into), process.cwd(), manager))
  } catch (error) {
    if (!(error instanceof UnusableFolder)) throw error
    refuse(error.message)
  }
}

function refuse(message: string): void {
  console.error(message)
  process.exitCode = WRONG_USE_EXIT_CODE
}
