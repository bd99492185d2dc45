#!/usr/bin/env node
/** `npm create baton-tasks [FOLDER]`: writes the starter into the folder, or into this one if it is empty or has a CDK app. */

import { packageManager, refuseUnnamed, report, scaffold, UnusableFolder } from './scaffold.ts'

const USAGE =
  'npm create baton-tasks [FOLDER]\n  writes a task, a flow, a stack and a test; it overwrites no file'

const WRONG_USE_EXIT_CODE = 2

const [named, another] = process.argv.slice(2)

if (named === '--help' || named === '-h') console.log(USAGE)
else if (another !== undefined || named?.startsWith('-')) refuse(USAGE)
else create(named)

function create(folder: string | undefined): void {
  try {
    if (folder === undefined) refuseUnnamed('.', 'npm create baton-tasks')
    const manager = packageManager(process.env.npm_config_user_agent)
    console.log(report(scaffold(folder ?? '.'), process.cwd(), manager))
  } catch (error) {
    if (!(error instanceof UnusableFolder)) throw error
    refuse(error.message)
  }
}

function refuse(message: string): void {
  console.error(message)
  process.exitCode = WRONG_USE_EXIT_CODE
}
