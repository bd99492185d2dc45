import type { ApiDeadLetter, ReplayAnswer, ReplayBody } from '../../shared/api/diagnosis/dead-letters.ts'
import type { ApiFailureGroup } from '../../shared/api/diagnosis/statistics.ts'
import { BatonError, defined } from '../../shared/core/values/values.ts'
import type { Context, LimitOptions } from '../connection/with-system.ts'
import { addLimitOptions, isConfirmed, printPages, withSystem } from '../connection/with-system.ts'
import type { DefineCommand } from '../terminal/command.ts'
import { refuseUnknownWord, repeated, timeBefore } from '../terminal/command.ts'
import { FAILED_EXIT_CODE } from '../terminal/io.ts'
import type { Column } from '../terminal/printer.ts'
import { oneLine, relativeTime } from '../terminal/style.ts'

/** One request of the API sends at most this many dead letters again. */
const REPLAYED_AT_ONCE = 100

const QUEUE_HELP = 'wake, jobs, stream, schedules, unknown, or type: and a type, such as type:resize'

type ListOptions = LimitOptions & { readonly queue?: string }
type ReplayOptions = { readonly queue?: string; readonly yes?: boolean }

/** `baton dead-letters`: lists the messages that were given up, and sends them again. */
export const deadLetters: DefineCommand = (command, invocation) => {
  const list = command
    .command('list', { isDefault: true })
    .description('lists the messages that were given up, by queue, the newest first')
    .option('--queue <queue>', `only dead letters of this queue: ${QUEUE_HELP}`)
  addLimitOptions(list, '')
  refuseUnknownWord(command, list)
  withSystem(list, invocation, listLetters)
  const replay = command
    .command('replay')
    .description('sends dead letters again: by their ids, or all of a queue')
    .helpOption('-h, --help', 'shows this help')
    .argument('[ids...]', 'the ids of dead letters')
    .option('--queue <queue>', `all of this queue: ${QUEUE_HELP}`)
    .option('--yes', 'does not ask')
  withSystem(replay, invocation, (context, options: ReplayOptions, ids: readonly string[]) =>
    replayLetters(context, options, ids),
  )
}

function listLetters(context: Context, { queue, limit, all }: ListOptions): Promise<void> {
  const none = 'no message was given up within the last 14 days'
  return printPages(context, page => context.client.deadLettersPage({ ...defined({ queue }), ...page }), {
    ...{ columns: deadLetterColumns(context), none, limit, all },
  })
}

function deadLetterColumns({ printer: { style, now } }: Context): Array<Column<ApiDeadLetter>> {
  return [
    { title: 'DEAD LETTER', value: ({ id }) => id, paint: style.bold },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'ABOUT', value: ({ taskId, canvasId, type }) => taskId ?? canvasId ?? type },
    { title: 'ARRIVED', value: ({ arrivedAt }) => relativeTime(arrivedAt, now()) },
    { title: 'REPLAY', value: ({ replayable }) => (replayable ? 'possible' : 'impossible') },
    { title: 'WHAT HAPPENED', value: ({ sentence }) => sentence, mayShrink: true },
  ]
}

/** Returns the exit code: 1 when one of them was not sent, or when the user said no. */
async function replayLetters(
  context: Context,
  { queue, yes = false }: ReplayOptions,
  ids: readonly string[],
): Promise<number> {
  if (ids.length > 0 === (queue !== undefined))
    throw new BatonError('invalid', 'give either ids of dead letters or --queue')
  if (queue === undefined) return replayIds(context, ids)
  if (!yes && !(await isSure(context, queue))) return FAILED_EXIT_CODE
  return replayQueue(context, queue)
}

async function isSure(context: Context, queue: string): Promise<boolean> {
  const { client, printer } = context
  const { items, nextCursor } = await client.deadLettersPage({ queue, limit: REPLAYED_AT_ONCE })
  // The replay itself says that there are none.
  if (items.length === 0) return true
  const able = items.filter(({ replayable }) => replayable).length
  if (able === 0 && nextCursor === undefined) {
    printer.warn(`no dead letter of ${oneLine(queue)} can be sent again`)
    return false
  }
  const number = nextCursor === undefined ? `${able}` : `${able} or more`
  const question = `Send ${number} dead ${number === '1' ? 'letter' : 'letters'} of ${oneLine(queue)} again?`
  return isConfirmed(context, question)
}

async function replayIds(context: Context, ids: readonly string[]): Promise<number> {
  let exitCode = 0
  for (let at = 0; at < ids.length && !context.io.signal.aborted; at += REPLAYED_AT_ONCE) {
    const answer = await replayed(context, { ids: ids.slice(at, at + REPLAYED_AT_ONCE) })
    exitCode = Math.max(exitCode, report(context, answer))
  }
  return exitCode
}

async function replayQueue(context: Context, queue: string): Promise<number> {
  let exitCode = 0
  let found = 0
  let cursor: string | undefined
  do {
    const answer = await replayed(context, { queue, ...(cursor !== undefined && { cursor }) })
    exitCode = Math.max(exitCode, report(context, answer))
    found += answer.results.length
    cursor = answer.nextCursor
  } while (cursor !== undefined && !context.io.signal.aborted)
  if (found === 0) context.printer.note(`${queue} has no dead letters`)
  return exitCode
}

function replayed({ client, io }: Context, which: ReplayBody): Promise<ReplayAnswer> {
  return client.replayDeadLetters(which, { signal: io.signal })
}

function report({ printer }: Context, { results }: ReplayAnswer): number {
  for (const result of results) {
    const { id, problem } = result
    if (printer.isJson) printer.record(result)
    else if (problem) printer.warn(problem.detail ?? problem.title)
    else printer.line(`${printer.style.bold(oneLine(id))} sent again`)
  }
  return results.some(({ status }) => status !== 200) ? FAILED_EXIT_CODE : 0
}

type FailureOptions = LimitOptions & { readonly type?: readonly string[]; readonly since?: string }

const GROUPS_MAX = 10_000

/** `baton failures`: failures grouped by type and error, those with the most failures first. */
export const failures: DefineCommand = (command, invocation) => {
  command
    .option('--type <type>', 'failures of this type; may be repeated (default: of every type)', repeated)
    .option(
      '--since <time>',
      'failures from the hour of this time on, such as 6h; at most 7 days ago (default: 24h)',
      timeBefore(invocation.now()),
    )
  addLimitOptions(command, ' groups', GROUPS_MAX)
  withSystem(command, invocation, (context, { type, since, limit, all }: FailureOptions) => {
    const query = defined({ type: type && [...type], since })
    const listing = { columns: failureColumns(context), none: 'no failures', limit, all }
    return printPages(context, page => context.client.failures({ ...query, ...page }), listing)
  })
}

function failureColumns({ printer: { style, now } }: Context): Array<Column<ApiFailureGroup>> {
  return [
    { title: 'COUNT', value: ({ count }) => count, isNumber: true },
    { title: 'TYPE', value: ({ type }) => type, paint: style.bold },
    { title: 'FIRST', value: ({ firstAt }) => relativeTime(firstAt, now()) },
    { title: 'LAST', value: ({ lastAt }) => relativeTime(lastAt, now()) },
    { title: 'THE LAST TASK', value: ({ exampleId }) => exampleId },
    { title: 'ERROR', value: ({ error }) => error, paint: style.red, mayShrink: true },
  ]
}
