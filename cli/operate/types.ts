import type { ApiListedCanvas, CanvasesQuery } from '../../shared/api/canvases.ts'
import type { ApiType, ApiWorker, PurgeBody } from '../../shared/api/types.ts'
import { CANVAS_STATUSES, STATUSES } from '../../shared/core/states.ts'
import { defined } from '../../shared/core/values/values.ts'
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

/** `baton workers`: the workers of the last day. The functions of a type are one entry. */
export const workers: DefineCommand = (command, invocation) => {
  withSystem(command, invocation, context => {
    const listing = { columns: workerColumns(context), none: 'there were no workers within the last day' }
    return printPages(context, page => context.client.workers(page), listing)
  })
}

function workerColumns({ printer: { style, now } }: Context): Array<Column<ApiWorker>> {
  return [
    { title: 'WORKER', value: ({ id }) => id, paint: style.bold },
    {
      title: 'STATE',
      value: ({ state }) => state,
      paint: text => (text.trim() === 'dead' ? style.red(text) : text),
    },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'VERSION', value: ({ version }) => version },
    { title: 'RUNNING', value: ({ running }) => running, isNumber: true },
    { title: 'LAST SEEN', value: ({ lastSeen }) => relativeTime(lastSeen, now()) },
    { title: 'TYPES', value: ({ types }) => types.join(', '), mayShrink: true },
  ]
}

/** `baton canvases`: the canvases, the latest first. */
export const canvases: DefineCommand = (command, invocation) => {
  command.option('--status <status>', 'running, succeeded, failed or cancelled', someOf(CANVAS_STATUSES))
  withSystem(command, invocation, (context, { status }: CanvasesQuery) => {
    const listing = { columns: canvasColumns(context), none: 'there are no canvases', limit: CANVASES_MAX }
    return printPages(context, page => context.client.canvases({ ...defined({ status }), ...page }), listing)
  })
}

/** They may be many, and are kept for days. */
const CANVASES_MAX = 100

function canvasColumns({ printer: { style, now } }: Context): Array<Column<ApiListedCanvas>> {
  return [
    { title: 'CANVAS', value: ({ id }) => id, paint: style.bold },
    { title: 'FORM', value: ({ form }) => form },
    { title: 'STATUS', value: ({ status }) => status, paint: style.status },
    { title: 'ENDED', value: ({ ended, tasks }) => (ended === undefined ? '' : `${ended} of ${tasks}`) },
    { title: 'PUBLISHED', value: ({ createdAt }) => relativeTime(createdAt, now()) },
    { title: 'ERROR', value: ({ error }) => error?.message, paint: style.red, mayShrink: true },
  ]
}
