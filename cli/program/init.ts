import { packageManager, refuseUnnamed, report, scaffold, UnusableFolder } from '../../create/scaffold.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import type { DefineCommand } from '../terminal/command.ts'

/** `baton init`: the starter of `npm create baton-tasks`, in a new folder or in an existing CDK app. */
export const init: DefineCommand = command => {
  command.argument('[folder]', 'an empty folder, or one with a CDK app (default: this one)').action(run)
}

function run(folder: string | undefined): void {
  const manager = packageManager(process.env.npm_config_user_agent)
  console.log(report(scaffoldIn(folder), process.cwd(), manager))
}

function scaffoldIn(folder: string | undefined) {
  try {
    if (folder === undefined) refuseUnnamed('.', 'npx baton init')
    return scaffold(folder ?? '.')
  } catch (cause) {
    if (cause instanceof UnusableFolder) throw new BatonError('invalid', cause.message, { cause })
    throw cause
  }
}
