/**
 * What `retry`, `cancel` and `remove` share: one call for each task that the user names by its id, or a bulk operation on the server for the
 * tasks of a filter. The command first lets the server count them, and asks. Then it shows the progress; the server continues without it.
 */

import { type Command, Option } from 'commander'
import type { ApiBulk, BulkBody } from '../../shared/api/bulk.ts'
import type { Client } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { STATUSES } from '../../shared/core/states.ts'
import { BatonError, defined } from '../../shared/core/values/values.ts'
import { type Context, isConfirmed, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, type Invocation, someOf, timeBefore } from '../terminal/command.ts'
import { FAILED_EXIT_CODE, INTERRUPTED_EXIT_CODE } from '../terminal/io.ts'
import { createProgress } from '../terminal/printer.ts'
import { oneLine } from '../terminal/style.ts'
import { tagFilter } from './list-filter.ts'

/** What `retry`, `cancel` and `remove` do to each task. */
type TaskAction = {
  readonly name: BulkBody['action']
  /** Begins the question, such as `Remove`. */
  readonly verb: string
  /** What has happened to the task then, such as `removed`. */
  readonly done: string
  readonly defaultStatus: ReadonlyArray<(typeof STATUSES)[number]>
  /** Options of the command that are given and are only for tasks named by their ids. @default none */
  readonly ofOne?: readonly string[]
  apply(client: Client, id: string): Promise<unknown>
}

type BulkOptions = Pick<BulkBody, 'since' | 'until' | 'error' | 'userId' | 'canvasId' | 'dryRun'> & {
  readonly type?: string
  readonly tag?: readonly string[]
  readonly status?: TaskAction['defaultStatus']
  readonly yes?: boolean
}

const CALLS_AT_ONCE = 10
const POLL_MS = 1_000

/** Gives a command its ids, its filter and its action, which depends on further options of the command. */
export function actOnTasks<Options extends object>(
  command: Command,
  invocation: Invocation,
  actionOf: (options: Options) => TaskAction,
): void {
  command.argument('[ids...]', 'the ids of tasks, such as resize:img-1')
  const time = timeBefore(invocation.now())
  const options = [
    new Option('--type <type>', 'the tasks of this type, by a job on the server'),
    new Option(
      '--status <status>',
      `only with this status: ${STATUSES.join(', ')}; may be repeated`,
    ).argParser(someOf(STATUSES)),
    new Option(
      '--since <time>',
      'only from this time on: the end of ended tasks, the due time of open ones',
    ).argParser(time),
    new Option('--until <time>', 'only before this time').argParser(time),
    new Option('--error <text>', 'only with an error that contains this text, in upper or lower case'),
    new Option('--user-id <id>', 'only of this user'),
    new Option('--canvas-id <id>', 'only members of this canvas'),
    new Option('--tag <name=value>', 'only with this tag; may be repeated').argParser(tagFilter),
    new Option('--yes', 'does not ask'),
    new Option('--dry-run', 'only counts them'),
  ]
  for (const option of options) command.addOption(option.helpGroup('Many tasks:'))
  withSystem(command, invocation, (context, given: Options & BulkOptions, ids: readonly string[]) =>
    ids.length === 0
      ? actOnMany(context, actionOf(given), given)
      : actOnIds(context, actionOf(given), given, ids),
  )
}

async function actOnIds(
  { client, printer, io }: Context,
  action: TaskAction,
  { type, status, since, until, error, userId, canvasId, tag, dryRun }: BulkOptions,
  ids: readonly string[],
): Promise<number> {
  const given = Object.keys(
    defined({
      ...{ '--type': type, '--status': status, '--since': since, '--until': until, '--error': error },
      ...{ '--user-id': userId, '--canvas-id': canvasId, '--tag': tag, '--dry-run': dryRun },
    }),
  )
  if (given.length > 0) throw new BatonError('invalid', `give either ids or ${given.join(', ')}, not both`)
  let failed = 0
  await forEachConcurrently(ids, CALLS_AT_ONCE, io.signal, async id => {
    const problem = await action.apply(client, id).then(() => undefined, asProblem)
    // The only one is refused as any other call: with its fields, or as JSON.
    if (problem && ids.length === 1) throw problem
    if (problem) {
      failed += 1
      printer.warn(`${id} was not ${action.done}: ${problem.problem.detail}`)
    } else if (printer.isJson) printer.record({ id, [action.done]: true })
    else printer.line(`${printer.style.bold(oneLine(id))} ${action.done}`)
  })
  return failed > 0 ? FAILED_EXIT_CODE : 0
}

async function actOnMany(context: Context, action: TaskAction, options: BulkOptions): Promise<number> {
  const { type, status = action.defaultStatus, since, until, error } = options
  const { userId, canvasId, tag, dryRun, yes } = options
  const { ofOne = [] } = action
  if (type === undefined) throw new BatonError('invalid', 'give the ids of tasks, or --type')
  if (ofOne.length > 0) throw new BatonError('invalid', `${ofOne.join(', ')} is for tasks named by their ids`)
  const narrowed = defined({ since, until, error, userId, canvasId, tags: tag })
  const body = { action: action.name, type, status, ...narrowed }
  const counted = dryRun || !yes ? await finishedBulk(context, { ...body, dryRun: true }) : undefined
  if (typeof counted === 'number') return counted
  if (counted && (dryRun || counted.selected === 0)) return showBulk(context, counted)
  if (counted && !(await isConfirmed(context, questionOf(action, counted)))) return FAILED_EXIT_CODE
  const bulk = await finishedBulk(context, body)
  return typeof bulk === 'number' ? bulk : showBulk(context, bulk)
}

function questionOf({ verb }: TaskAction, counted: ApiBulk): string {
  return `${verb} ${counted.selected} task${counted.selected === 1 ? '' : 's'}${leftOutText(counted)}?`
}

/** Begins a bulk operation, shows its progress and waits for its end. Returns the exit code after an interruption. */
async function finishedBulk(context: Context, body: BulkBody): Promise<ApiBulk | number> {
  const { client, io, followUp } = context
  const { id } = await client.startBulk(body)
  const progress = createProgress(io.err, io.now)
  let bulk = await client.bulk(id)
  const poll = async () => {
    for (; bulk.state === 'running' && !io.signal.aborted; bulk = await client.bulk(id)) {
      const { dryRun, selected, examined, done } = bulk
      progress.show(dryRun ? `counting: ${selected} of ${examined} tasks` : `${done} of ${selected} done`)
      await io.sleep(POLL_MS)
    }
  }
  const interrupted = await interruptible(
    context,
    () => poll().finally(() => progress.clear()),
    () => `the server continues; ${followUp('bulk', id)} shows how far it is`,
  )
  return interrupted ?? bulk
}

/** Shows a bulk operation. Returns the exit code: 1 when it has left out tasks. */
function showBulk({ printer }: Context, bulk: ApiBulk): number {
  const { selected, done, dryRun, state } = bulk
  const text = dryRun ? `${selected} selected, nothing was done` : `${done} of ${selected} done`
  printer.answer(bulk, `${text}${leftOutText(bulk)}${state === 'running' ? '; it is under way' : ''}`)
  return !dryRun && Object.keys(bulk.leftOut).length > 0 ? FAILED_EXIT_CODE : 0
}

function leftOutText({ leftOut }: ApiBulk): string {
  const reasons = Object.entries(leftOut).map(([reason, count]) => `${count} ${reason}`)
  return reasons.length > 0 ? ` (left out: ${reasons.join(', ')})` : ''
}

/** `baton bulk`: how far a bulk operation is, and its outcome. */
export const bulk: DefineCommand = (command, invocation) => {
  command.argument('<id>', 'the id of a bulk operation')
  withSystem(command, invocation, async (context, _options: object, id: string) =>
    showBulk(context, await context.client.bulk(id)),
  )
}

/** The problem of a refused call. Any other error is a fault of this program. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  throw error
}

/**
 * Calls `work` for each item, at most `concurrency` at a time, until `signal` aborts. An error ends it, after the calls under way have
 * ended.
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = iteratorOf(items)
  let isOver = false
  const lane = async () => {
    while (!isOver && !signal.aborted) {
      const next = await iterator()
      if (next.done) return
      await work(next.value)
    }
  }
  const lanes = Array.from({ length: concurrency }, () =>
    lane().catch(error => {
      isOver = true
      throw error
    }),
  )
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Takes items one after the other, also when several lanes ask at once. */
function iteratorOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): () => Promise<IteratorResult<Item>> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(() => iterator.next())
    last = next.catch(() => {})
    return next
  }
}

/**
 * Runs the calls of a command for many tasks, which begin no further call after a Ctrl-C. The process ends after the calls under way, so
 * that the report says how each of them ended, and `resumption` is printed. Returns the exit code after an interruption; otherwise
 * undefined.
 */
export async function interruptible(
  { io, printer }: Context,
  calls: () => Promise<void>,
  resumption: () => string,
): Promise<number | undefined> {
  const onInterrupt = () =>
    printer.note('interrupted: the calls under way end first; Ctrl-C again ends at once')
  io.signal.addEventListener('abort', onInterrupt, { once: true })
  const whole = calls().then(() => {
    if (io.signal.aborted) printer.warn(resumption())
  })
  io.endAfter(whole)
  try {
    await whole
  } finally {
    io.signal.removeEventListener('abort', onInterrupt)
  }
  return io.signal.aborted ? INTERRUPTED_EXIT_CODE : undefined
}
