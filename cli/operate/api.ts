import { Argument } from 'commander'
import { ENDPOINTS, type OperationName, targetOf } from '../../shared/api/endpoints.ts'
import type { ApiEvent } from '../../shared/api/events.ts'
import { createTransport } from '../../shared/client/send.ts'
import { EVENT_TYPES, type EventType } from '../../shared/core/states.ts'
import { BatonError, defined } from '../../shared/core/values/values.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, jsonArgument, repeated, someOf } from '../terminal/command.ts'
import type { Column } from '../terminal/printer.ts'
import { clockText, oneLine } from '../terminal/style.ts'

type ApiOptions = { readonly body?: string; readonly query?: readonly string[] }

/** A stream of events never ends. `baton events` shows it. */
const STREAM = 'events'
const NAMES = Object.keys(ENDPOINTS).filter(name => name !== STREAM) as OperationName[]

/** `baton api`: any operation of the API by its name, as `baton api patch resize:img-1 --body '{"priority": 5}'`; alone, their list. */
export const api: DefineCommand = (command, invocation) => {
  command
    .addArgument(new Argument('[operation]', 'the name of an operation').choices(NAMES))
    .argument('[ids...]', 'the parts of its path that vary, in order')
    .option('--body <json>', 'the body of the request; - reads it from the input')
    .option('--query <name=value>', 'a parameter of the query; may be repeated', repeated)
  withSystem(command, invocation, (context, options: ApiOptions, name?: OperationName, ids: string[] = []) =>
    name === undefined ? listOperations(context) : callOperation(context, options, name, ids),
  )
}

async function listOperations({ printer }: Context): Promise<void> {
  const all = NAMES.map(name => {
    const [method, path] = ENDPOINTS[name]
    return { name, method: method.toUpperCase(), path }
  })
  const columns: Array<Column<(typeof all)[number]>> = [
    { title: 'OPERATION', value: ({ name }) => name, paint: printer.style.bold },
    { title: 'REQUEST', value: ({ method, path }) => `${method} ${path}` },
  ]
  printer.table(columns, all)
}

async function callOperation(
  { url, fetch, printer, io }: Context,
  { body, query = [] }: ApiOptions,
  name: OperationName,
  ids: readonly string[],
): Promise<void> {
  const parts = ENDPOINTS[name][1].match(/\{\w+\}/g) ?? []
  if (ids.length !== parts.length) {
    const wanted = parts.length === 0 ? 'no ids' : parts.join(' and ')
    throw new BatonError('invalid', `${name} takes ${wanted}, and ${ids.length} ids are given`)
  }
  const answer = await createTransport({ url, fetch }).send(targetOf(name, ...ids), {
    ...(body !== undefined && { body: await jsonArgument(body, '--body', io.input) }),
    query: queryOf(query),
    call: { signal: io.signal },
  })
  if (answer !== undefined) printer.document(answer)
}

/** A name that is given several times has several values. */
function queryOf(given: readonly string[]): Record<string, string[]> {
  const query: Record<string, string[]> = {}
  for (const text of given) {
    const at = text.indexOf('=')
    if (at < 1) throw new BatonError('invalid', `--query ${text} is not of the form name=value`)
    const name = text.slice(0, at)
    query[name] = [...(query[name] ?? []), text.slice(at + 1)]
  }
  return query
}

type EventsOptions = {
  readonly type?: readonly EventType[]
  readonly taskType?: readonly string[]
  readonly taskId?: readonly string[]
  readonly after?: string
}

/** `baton events`: until Ctrl-C. After a broken connection it continues with the next event. */
export const events: DefineCommand = (command, invocation) => {
  command
    .option('--type <type>', `events of these types: ${EVENT_TYPES.join(', ')}`, someOf(EVENT_TYPES))
    .option('--task-type <type>', 'events about tasks of this type; may be repeated', repeated)
    .option('--task-id <id>', 'events about this task; may be repeated', repeated)
    .option('--after <id>', 'first the events since the one with this id')
  withSystem(command, invocation, async (context, options: EventsOptions) => {
    if (context.io.out.isTTY) context.printer.note('waiting for events; Ctrl-C ends')
    for await (const event of context.client.events(selectionOf(context, options))) print(context, event)
  })
}

function selectionOf({ io }: Context, { type, taskType, taskId, after }: EventsOptions) {
  const selection = { types: type, taskTypes: taskType, taskIds: taskId, lastEventId: after }
  return { signal: io.signal, ...defined(selection) }
}

function print({ printer }: Context, event: ApiEvent): void {
  if (printer.isJson) return void printer.record(event)
  const { style } = printer
  const [subject = '', happened = ''] = event.type.split('.')
  const { error, workerId, runId } = event
  const details = [
    event.taskId ?? workerId,
    runId && `run ${runId}`,
    event.taskId && workerId && `by ${workerId}`,
    error && `${error.name}: ${error.message}`,
  ].filter(text => text !== undefined && text !== '')
  printer.line(
    `${style.dim(clockText(Date.parse(event.at)))}  ${subject} ${style.status(happened)}  ${oneLine(details.join(', '))}`,
  )
}
