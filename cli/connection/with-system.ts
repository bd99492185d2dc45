import { type Command, Option } from 'commander'
import type { Page } from '../../shared/api/scalars.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { type Invocation, wholeNumber } from '../terminal/command.ts'
import {
  confirm,
  FAILED_EXIT_CODE,
  fetchFailureOf,
  optionWords,
  shellWord,
  WRONG_USE_EXIT_CODE,
} from '../terminal/io.ts'
import { type Column, createPrinter, type Layout, type Printer } from '../terminal/printer.ts'
import { safeJson, safeLines } from '../terminal/style.ts'
import { connect, type System, type SystemOptions, systemOptions } from './connection.ts'

/** What the action of a command works with. */
export type Context = System & {
  readonly printer: Printer
  /** Writes a command for the same system, which a reader can paste. */
  readonly followUp: FollowUp
  readonly options: SystemOptions
  readonly io: Invocation
}

type CommonOptions = SystemOptions & { readonly json?: boolean; readonly color?: boolean }

/**
 * Gives a command the options of every command that speaks to a system, and its action. The action may return an exit code; otherwise it is
 * 0. It leaves errors of the client to this function, which prints them.
 */
export function withSystem<Options extends object, Args extends readonly unknown[]>(
  command: Command,
  invocation: Invocation,
  action: (context: Context, options: Options, ...args: Args) => Promise<number> | Promise<void>,
): void {
  addCommonOptions(command).action(async (...given: unknown[]) => {
    const args = given.slice(0, -2) as unknown as Args
    const options = given.at(-2) as Options & CommonOptions
    const { json = false } = options
    const context = {
      ...(await connect(options, invocation)),
      printer: createPrinter(invocation, options),
      followUp: followUpOf(options),
      options,
      io: invocation,
    }
    try {
      const exitCode = await action(context, options, ...args)
      invocation.exitWith(exitCode || 0)
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      invocation.exitWith(reportFailure(error, invocation, context, json))
    }
  })
}

function addCommonOptions(command: Command): Command {
  const group = 'Options of every command:'
  const options = [
    ...systemOptions(),
    new Option('--json', 'prints JSON: one document, or one a line for lists and streams'),
    new Option('--no-color', 'prints without colours (also: NO_COLOR)'),
  ]
  for (const option of options) command.addOption(option.helpGroup(group))
  command.addHelpOption(new Option('-h, --help', 'shows this help').helpGroup(group))
  return command
}

/** Statuses that say that the caller wrote something illegal. */
const WRONG_USE_STATUSES: readonly number[] = [400, 413, 415]

/** Prints why a call of the API failed: as lines for people, or as the problem document with `--json`. Returns the exit code. */
function reportFailure(
  { problem, status, cause }: ProblemError,
  io: Invocation,
  system: System,
  isJson: boolean,
): number {
  if (isJson) io.err.write(`${safeJson(problem)}\n`)
  else for (const line of failureLines(problem, system, cause)) io.err.write(`${line}\n`)
  return WRONG_USE_STATUSES.includes(status) ? WRONG_USE_EXIT_CODE : FAILED_EXIT_CODE
}

/** What went wrong in words: a sentence, a line for each wrong field, and what to do. */
function failureLines(problem: ProblemError['problem'], system: System, cause: unknown): string[] {
  if (problem.status === 0) return [unreachable(problem.detail, system, cause)]
  const { detail, title, errors = [] } = problem
  const fields = errors.length > 1 ? errors.map(({ path, message }) => `  ${path} ${message}`) : []
  return [...safeLines([detail || title, ...fields].join('\n')), ...adviceFor(problem.status, system)]
}

function unreachable(detail: string, { url, isUsual }: System, cause: unknown): string {
  const reason = cause instanceof TypeError ? fetchFailureOf(cause) : reasonIn(detail)
  if (!isUsual) return safeLines(`no Baton system answers at ${url}: ${reason}`).join(' ')
  return `no Baton system answers at ${url}: start it with baton dev, or name another one with --url or --stack`
}

/** The client's detail begins with the method and the URL of the call. */
function reasonIn(detail: string): string {
  return detail.replace(/^[A-Z]+ \S+: /, '')
}

function adviceFor(status: number, { url, isSigned }: System): string[] {
  if (status === 401) return [`${url} requires a token: set BATON_TOKEN`]
  if (status === 403 && !isSigned)
    return ['calls of a deployed API are signed: give --stack NAME, or --profile NAME with --url']
  return []
}

/** Writes a command that a reader can paste: `followUp('cancel', 'order-7')` is `baton cancel order-7 --stack Shop`. */
export type FollowUp = (...words: readonly string[]) => string

/** Makes the writer of commands that speak to the same system as the present one, which these options name. */
export function followUpOf({ url, stack, profile, region }: SystemOptions): FollowUp {
  const system = optionWords({ url, stack, profile, region })
  return (...words) => ['baton', ...[...words, ...system].map(shellWord)].join(' ')
}

/** Asks the user, and says so when nothing is done. */
export async function isConfirmed({ io, printer }: Context, question: string): Promise<boolean> {
  const isSure = await confirm(io, question)
  if (!isSure) printer.warn('nothing was done')
  return isSure
}

const PAGE_ITEMS_MAX = 100

type ReadPage<Item> = (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>

export type LimitOptions = { readonly limit: number; readonly all?: boolean }

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 1_000_000

/** Adds the options of a list that may be long. `printPages` takes them. */
export function addLimitOptions(command: Command, what: string, max = LIMIT_MAX): void {
  command
    .option('--limit <n>', `shows at most this many${what}`, wholeNumber(1, max), LIMIT_DEFAULT)
    .option('--all', `shows all${what || ' of them'}`)
}

type Listing<Item> = {
  readonly columns: ReadonlyArray<Column<Item>>
  /** What is said in place of an empty table. */
  readonly none: string
  /** The most items that are printed. @default all of them */
  readonly limit?: number
  readonly all?: boolean | undefined
}

/** Prints a list page by page as it arrives: one table for people, or a line of JSON for each item. */
export async function printPages<Item>(
  { printer, io }: Context,
  read: ReadPage<Item>,
  { columns, none, limit: most = Number.POSITIVE_INFINITY, all }: Listing<Item>,
): Promise<void> {
  const limit = all ? Number.POSITIVE_INFINITY : most
  const layout: Layout = { widths: [] }
  let printed = 0
  let cursor: string | undefined
  do {
    const wanted = Math.min(PAGE_ITEMS_MAX, limit - printed)
    const page = await read({ limit: wanted, ...(cursor !== undefined && { cursor }) })
    printer.table(columns, page.items, layout)
    printed += page.items.length
    cursor = page.nextCursor
  } while (cursor !== undefined && printed < limit && !io.signal.aborted)
  if (printed === 0) printer.note(none)
  else if (cursor !== undefined) printer.note('there are more: give a higher --limit, or --all')
}
