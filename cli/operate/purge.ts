import type { PurgeBody } from '../../shared/api/types.ts'
import { STATUSES } from '../../shared/core/states.ts'
import { type DefineCommand, someOf } from '../command.ts'
import { FAILED_EXIT_CODE } from '../say.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import { confirm } from '../terminal/confirm.ts'
import { oneLine } from '../terminal/safe-text.ts'
import { timeBefore } from '../terminal/times.ts'

type Options = PurgeBody & { readonly yes?: boolean }

/** `baton purge`: starts the background job, after it has shown the counts and asked. */
export const purge: DefineCommand = (command, invocation) => {
  command
    .argument('<type>', 'the name of a type')
    .requiredOption(
      '--status <status>',
      `which tasks: ${STATUSES.join(', ')}; may be repeated`,
      someOf(STATUSES),
    )
    .option('--before <time>', 'only tasks from before this time, such as 30d', timeBefore(invocation.now()))
    .option('--yes', 'does not ask')
  withSystem(command, invocation, async (context, options: Options, type: string) => {
    if (!(await isSure(context, options, type))) return FAILED_EXIT_CODE
    const { status, before } = options
    const answer = await context.client.purge(type, { status, ...(before !== undefined && { before }) })
    if (context.printer.isJson) context.printer.document(answer)
    else
      context.printer.line(
        `the purge of ${oneLine(type)} goes on in the background: ${status.join(', ')} before ${answer.before}`,
      )
    return 0
  })
}

/** Asks with the number of tasks. Some of them may be newer than the purge's time. */
async function isSure({ client, io, printer }: Context, options: Options, type: string): Promise<boolean> {
  if (options.yes) return true
  const counts = await client.counts(type)
  const most = options.status.reduce((sum, status) => sum + counts[status], 0)
  const number = options.before === undefined ? `${most}` : `up to ${most}`
  if (await confirm(io, `Remove ${number} tasks of ${oneLine(type)} (${options.status.join(', ')})?`))
    return true
  printer.warn('nothing was done')
  return false
}
