import type { ApiType, PurgeBody } from '../../shared/api/types.ts'
import { STATUSES } from '../../shared/core/states.ts'
import { type Context, isConfirmed, printPages, withSystem } from '../connection/with-system.ts'
import { factLines } from '../tasks/read.ts'
import { type DefineCommand, someOf, timeBefore } from '../terminal/command.ts'
import { FAILED_EXIT_CODE } from '../terminal/io.ts'
import type { Column } from '../terminal/printer.ts'
import { durationText, oneLine, relativeTime, safeJson } from '../terminal/style.ts'

/** `baton types`: all types, or one with the counts of its tasks. */
export const types: DefineCommand = (command, invocation) => {
  command.argument('[type]', 'shows this type with the counts of its tasks')
  withSystem(command, invocation, async (context, _options: object, type?: string) => {
    if (type !== undefined) return showType(context, type)
    const listing = { columns: typeColumns(context), none: 'no types are registered' }
    await printPages(context, page => context.client.types(page), listing)
  })
}

function typeColumns({ printer: { style, now } }: Context): Array<Column<ApiType>> {
  return [
    { title: 'TYPE', value: ({ type }) => type, paint: style.bold },
    { title: 'KIND', value: ({ kind }) => kind },
    {
      title: 'STATE',
      value: ({ paused }) => (paused ? 'paused' : 'active'),
      paint: (text, { paused }) => (paused ? style.yellow(text) : text),
    },
    { title: 'ORDER', value: ({ ordering }) => ordering },
    { title: 'LIMITS', value: limitsText },
    { title: 'CHANGED', value: ({ updatedAt }) => relativeTime(updatedAt, now()) },
  ]
}

/** `100 per 1 min by userId, 3 at a time`. */
function limitsText({ limits }: ApiType): string | undefined {
  const { rate, concurrency } = limits ?? {}
  const by = (key: string | undefined) => (key === undefined ? '' : ` by ${key}`)
  const parts = [
    ...(rate ? [`${rate.limit} per ${durationText(rate.perMs)}${by(rate.key)}`] : []),
    ...(concurrency ? [`${concurrency.max} at a time${by(concurrency.key)}`] : []),
  ]
  return parts.join(', ') || undefined
}

async function showType({ client, printer }: Context, name: string): Promise<void> {
  const [type, counts] = await Promise.all([client.type(name), client.counts(name)])
  const { style } = printer
  const facts = [
    ['type', style.bold(oneLine(type.type))],
    ['kind', type.kind],
    ['state', type.paused ? style.yellow('paused') : 'active'],
    ['order', type.ordering],
    ['limits', limitsText(type) && oneLine(limitsText(type) ?? '')],
    ['shards', type.shards > 1 ? String(type.shards) : undefined],
    ['handler since', type.handlerSince],
    ['steps', type.steps && oneLine(type.steps.map(step => step.name).join(' → '))],
    ['defaults', Object.keys(type.defaults).length > 0 ? safeJson(type.defaults) : undefined],
    ...Object.entries(counts).map(([status, count]) => [status, String(count)] as const),
  ] as const
  printer.answer({ ...type, counts }, ...factLines(facts, style))
}

/** `baton pause`: when it ends, no task of the type can start any more. */
export const pause = pausing('pause')

/** `baton resume`: the counterpart of `baton pause`. */
export const resume = pausing('resume')

function pausing(call: 'pause' | 'resume'): DefineCommand {
  return (command, invocation) => {
    command.argument('<type>', 'the name of a type')
    withSystem(command, invocation, async ({ client, printer }, _options: object, type: string) => {
      const answer = await client[call](type)
      const state = answer.paused ? 'paused' : 'active'
      printer.answer(answer, `${printer.style.bold(oneLine(answer.type))} is ${state}`)
    })
  }
}

type PurgeOptions = PurgeBody & { readonly yes?: boolean }

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
  withSystem(command, invocation, async (context, options: PurgeOptions, type: string) => {
    if (!(await isSureToPurge(context, options, type))) return FAILED_EXIT_CODE
    const { status, before } = options
    const answer = await context.client.purge(type, { status, ...(before !== undefined && { before }) })
    const line = `the purge of ${oneLine(type)} runs in the background: ${status.join(', ')} before ${answer.before}`
    context.printer.answer(answer, line)
    return 0
  })
}

/** Asks the user, with the number of tasks. With `--before` fewer tasks may be removed. */
async function isSureToPurge(context: Context, options: PurgeOptions, type: string): Promise<boolean> {
  if (options.yes) return true
  const counts = await context.client.counts(type)
  const most = options.status.reduce((sum, status) => sum + counts[status], 0)
  const number = options.before === undefined ? `${most}` : `up to ${most}`
  return isConfirmed(context, `Remove ${number} tasks of ${oneLine(type)} (${options.status.join(', ')})?`)
}
