import { createHash, randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { PublishBody, PublishResult } from '../../shared/api/publish.ts'
import { isRepeatable } from '../../shared/client/publish.ts'
import { BATCH_TASKS_MAX } from '../../shared/core/bounds.ts'
import { BatonError, type Json } from '../../shared/core/values/values.ts'
import type { Context } from '../connection/with-system.ts'
import { wholeNumber } from '../terminal/command.ts'
import { FAILED_EXIT_CODE, optionWords } from '../terminal/io.ts'
import { createProgress } from '../terminal/printer.ts'
import { asProblem, forEachConcurrently, interruptible } from './act-on-tasks.ts'
import { FORMATS, type InputFormat, type InputLine, inputLines } from './input-lines.ts'
import { createReport, type Report, reopenReport, reportName } from './report.ts'

export type FileOptions = {
  readonly from?: string
  readonly format?: InputFormat
  readonly keyField?: string
  readonly report?: string
  readonly resume?: string
  readonly concurrency: number
}

const BATCHES_AT_ONCE_MAX = 50

export function addFileOptions(command: Command): void {
  const atOnce = new Option('--concurrency <n>', `batches of ${BATCH_TASKS_MAX} at the same time`)
  const options = [
    new Option(
      '--from <file>',
      'publishes a task for each line of an .ndjson or .csv file: its input, or the whole task where no type is given; `-` reads the standard input',
    ),
    new Option('--format <format>', 'the format of the file (default: by its name)').choices(FORMATS),
    new Option('--key-field <name>', 'the field of the input that is the key (default: keys of its own)'),
    new Option('--report <file>', 'where the report is written (default: a file in this folder)'),
    new Option('--resume <file>', 'continues with the report of an interrupted command').conflicts('report'),
    atOnce.default(4).argParser(wholeNumber(1, BATCHES_AT_ONCE_MAX)),
  ]
  for (const option of options) command.addOption(option.helpGroup('Many tasks:'))
}

type Given = FileOptions & {
  readonly from: string
  /** The words of the command that give the type and the options of each task. */
  readonly words: readonly string[]
}

/** How the lines ended. `unknown`: no answer said whether the task was stored. `reasons` says why the first lines have no task. */
type Tally = { ok: number; existed: number; failed: number; unknown: number; readonly reasons: string[] }

/** The fields of every task. Where they name no type, each line is a whole task. */
type Common = Partial<PublishBody>

const REASONS_SHOWN = 10
/** How long the command waits before it sends lines of unknown outcome again, under their keys. */
const PAUSES_MS = [1_000, 5_000, 15_000]

/**
 * Publishes a task for each line. Each task has a key that its line decides, so a command that continues publishes none twice. The
 * report says how each line ended; when every line has its task, it is removed, unless the user has named it.
 */
export async function publishFile(context: Context, body: Common, options: Given): Promise<number> {
  const { io } = context
  const report = reportFor(context, body, options)
  const tally: Tally = { ok: 0, existed: 0, failed: 0, unknown: 0, reasons: [] }
  const progress = createProgress(io.err, io.now)
  const batches = batchesOf(inputLines(options.from, options.format, io.input), report)
  const publishAll = () =>
    forEachConcurrently(batches, options.concurrency, io.signal, async batch => {
      for (const [line, result] of await publishBatch(context, body, options, batch, report.header.run))
        note(report, tally, line, result)
      progress.show(`${tally.ok} published${othersIn(tally)}`)
    }).finally(() => progress.clear())
  const interrupted = await interruptible(
    context,
    publishAll,
    () => `interrupted after ${tally.ok} tasks: ${resumption(context, options, report)}`,
  )
  return interrupted ?? showSummary(context, tally, options, report)
}

function reportFor({ url, io }: Context, body: Common, options: Given): Report {
  const { from, format, keyField, report, resume } = options
  const settings = { from, format, keyField, task: JSON.stringify(body) }
  const header = { action: 'publish', url, settings } as const
  if (resume !== undefined) return reopenReport(resume, header)
  const path = report ?? reportName(io.now())
  const at = new Date(io.now()).toISOString()
  return createReport(path, { ...header, at, run: randomUUID() })
}

/**
 * The lines that the report does not know as published, in batches.
 *
 * @throws BatonError `invalid` when a published line has another input now: the numbers of the lines mean other tasks.
 */
async function* batchesOf(lines: AsyncIterable<InputLine>, report: Report): AsyncGenerator<InputLine[]> {
  let batch: InputLine[] = []
  for await (const line of lines) {
    const earlier = report.succeeded.get(String(line.number))
    if (earlier && earlier.digest !== digestOf(line)) throw otherLine(line, report)
    if (earlier) continue
    batch.push(line)
    if (batch.length < BATCH_TASKS_MAX) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function digestOf({ input }: InputLine): string {
  return createHash('sha256')
    .update(JSON.stringify(input ?? null))
    .digest('base64url')
    .slice(0, 16)
}

function otherLine({ number }: InputLine, { path }: Report): BatonError {
  const advice = `lines that ${path} knows as published must stay as they are. Publish other lines without --resume`
  return new BatonError('invalid', `line ${number} was published with another input: ${advice}`)
}

type Refused = { readonly status: number; readonly detail: string }
type Ended = PublishResult | Refused

/** Publishes the lines of a batch. Lines of unknown outcome are sent again: their keys keep them from being stored twice. */
async function publishBatch(
  context: Context,
  body: Common,
  options: Given,
  batch: readonly InputLine[],
  run: string,
): Promise<Array<[InputLine, Ended]>> {
  const { io } = context
  const made = batch.map(line => ({ line, task: taskOf(line, body, options, run) }))
  const ended = new Map<InputLine, Ended>(
    made.flatMap(({ line, task }) => ('type' in task ? [] : [[line, task]])),
  )
  let open = made.flatMap(({ line, task }) => ('type' in task ? [{ line, task }] : []))
  for (const pause of [0, ...PAUSES_MS]) {
    if (open.length === 0) break
    if (pause > 0) await io.sleep(pause)
    if (io.signal.aborted) break
    const results = await send(context, open, run)
    for (const [line, result] of results) ended.set(line, result)
    open = open.filter(({ line, task }) => isRepeatable(task) && isUnknown(ended.get(line)?.status ?? 0))
  }
  return batch.map(line => [line, ended.get(line) ?? NO_RESULT])
}

type Sent = { readonly line: InputLine; readonly task: PublishBody }

async function send(
  { client }: Context,
  sent: readonly Sent[],
  run: string,
): Promise<Array<[InputLine, Ended]>> {
  const results: readonly Ended[] = await client
    .publishMany(sent.map(({ task }) => task))
    .catch((error: unknown) => {
      const { status, problem } = asProblem(error)
      return sent.map(() => ({ status, detail: problem.detail }))
    })
  return sent.map(({ line, task }, nth) => {
    const result = results[nth] ?? NO_RESULT
    // An earlier try has stored the task: no other task has a key that was made for this line.
    const isOurs = result.status === 200 && task.key === keyOf(run, line)
    return [line, isOurs ? { ...result, status: 201 } : result]
  })
}

const NO_RESULT = { status: 0, detail: 'no answer says whether the task is stored' }

/** Whether a request may have been carried out: it had no answer, or one that says that something went wrong on the way. */
function isUnknown(status: number): boolean {
  return status === 0 || status >= 500
}

/** The key of a line that has none of its own. */
function keyOf(run: string, { number }: InputLine): string {
  return `${run}-${number}`
}

function taskOf(line: InputLine, common: Common, { keyField }: Given, run: string): PublishBody | Refused {
  const { input = null, problem } = line
  if (problem !== undefined) return { status: 400, detail: problem }
  const body = common.type === undefined ? { ...common, ...wholeTask(input) } : { ...common, input }
  const { type } = body
  if (typeof type !== 'string') return { status: 400, detail: `type is missing: ${WHOLE_TASK}` }
  if (keyField === undefined) return { key: keyOf(run, line), ...body, type }
  const key = Object(body.input)[keyField] as unknown
  if (typeof key === 'string' || typeof key === 'number') return { ...body, type, key: String(key) }
  return { status: 400, detail: `the field ${keyField} must be a text or a number: it is the key` }
}

/** The task that a line holds. A dot in the name of a field, such as a CSV column `input.width`, leads into a field. */
function wholeTask(line: Json): Partial<PublishBody> {
  const task: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(Object(line))) setField(task, name.split('.'), value)
  return task
}

function setField(
  into: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): void {
  let set = value
  if (rest.length > 0) {
    const inner = { ...(Object.hasOwn(into, name) && Object(into[name])) }
    setField(inner, rest, value)
    set = inner
  }
  Object.defineProperty(into, name, { value: set, enumerable: true, writable: true, configurable: true })
}

const WHOLE_TASK =
  'without a type in the command, each line is a task such as {"type": "resize", "input": {"width": 100}}'

function note(report: Report, tally: Tally, line: InputLine, result: Ended): void {
  const { status } = result
  const ok = status === 200 || status === 201
  const outcome = ok ? 'ok' : isUnknown(status) ? 'unknown' : 'failed'
  tally[outcome] += 1
  if (status === 200) tally.existed += 1
  const detail = detailOf(result)
  if (!ok && tally.reasons.length < REASONS_SHOWN) tally.reasons.push(`line ${line.number}: ${detail}`)
  const id = 'id' in result ? result.id : undefined
  report.add({
    ref: String(line.number),
    ok,
    status,
    ...(ok && { digest: digestOf(line) }),
    ...(id !== undefined && { id }),
    ...(!ok && { detail }),
  })
}

function detailOf(result: Ended): string {
  const detail = 'detail' in result ? result.detail : result.problem?.detail
  return detail ?? `status ${result.status}`
}

/** How to continue a report: it takes only the settings with which it began. */
function resumption({ followUp }: Context, options: Given, { path }: Report): string {
  const { words, from, format, keyField } = options
  const file = optionWords({ from, format, 'key-field': keyField, resume: path })
  return `continue with ${followUp('publish', ...words, ...file)}`
}

/** What else came of the lines than tasks that are stored. */
function othersIn({ failed, unknown }: Tally): string {
  return (failed > 0 ? `, ${failed} failed` : '') + (unknown > 0 ? `, ${unknown} unknown` : '')
}

function showSummary(context: Context, tally: Tally, options: Given, report: Report): number {
  const { printer } = context
  const { ok, existed, failed, unknown, reasons } = tally
  const isDone = failed + unknown === 0
  const isKept = !isDone || options.report !== undefined || options.resume !== undefined
  if (!isKept) report.remove()
  const existing = existed > 0 ? ` (${existed} existed already)` : ''
  const counts = { published: ok - existed, existed, failed, unknown }
  const summary = { ...counts, ...(isKept && { report: report.path }) }
  printer.answer(summary, `${ok} published${existing}${othersIn(tally)}`)
  if (isDone) {
    if (isKept) printer.note(`the report is ${report.path}`)
    return 0
  }
  for (const reason of reasons) printer.warn(reason)
  const more = failed + unknown - reasons.length
  const rest = more > 0 ? `${more} more in ${report.path}; ` : ''
  printer.warn(`${rest}${resumption(context, options, report)}`)
  return FAILED_EXIT_CODE
}
