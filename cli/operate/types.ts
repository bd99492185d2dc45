import type { ApiType } from '../../shared/api/types.ts'
import type { DefineCommand } from '../command.ts'
import { printPages } from '../system/print-pages.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import { factLines } from '../tasks/task-view.ts'
import { oneLine, safeJson } from '../terminal/safe-text.ts'
import type { Column } from '../terminal/table.ts'
import { durationText, relativeTime } from '../terminal/times.ts'

/** `baton types`: all types, or one with the counts of its tasks. */
export const types: DefineCommand = (command, invocation) => {
  command.argument('[type]', 'shows this type with the counts of its tasks')
  withSystem(command, invocation, async (context, _options: object, type?: string) => {
    if (type !== undefined) return showType(context, type)
    const listing = { columns: columnsOf(context), none: 'no types are registered' }
    await printPages(context, page => context.client.types(page), listing)
    return 0
  })
}

function columnsOf({ printer: { style, now } }: Context): Array<Column<ApiType>> {
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

async function showType({ client, printer }: Context, name: string): Promise<number> {
  const [type, counts] = await Promise.all([client.type(name), client.counts(name)])
  if (printer.isJson) {
    printer.document({ ...type, counts })
    return 0
  }
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
  for (const line of factLines(facts, style)) printer.line(line)
  return 0
}
