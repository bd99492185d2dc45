import { createHash, randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { PublishBody, PublishResult } from '../../shared/api/publish.ts'
import { BATCH_TASKS_MAX } from '../../shared/core/bounds.ts'
import { BatonError } from '../../shared/core/errors.ts'
import type { Context } from '../connection/with-system.ts'
import { FAILED_EXIT_CODE } from '../terminal/io.ts'
import { createProgress } from '../terminal/printer.ts'
import { asProblem, forEachConcurrently, interruptible } from './act-on-tasks.ts'
import { type InputFormat, type InputLine, inputLines } from './input-lines.ts'
import { addReportOptions, createReport, type Report, reopenReport, reportName } from './report.ts'

export type FileOptions = {
  readonly from?: string
  readonly format?: InputFormat
  readonly keyField?: string
  readonly report?: string
  readonly resume?: string
  readonly concurrency: number
}

export function addFileOptions(command: Command): void {
  const own = [
    new Option(
      '--from <file>',
      'publishes a task for each line of an .ndjson or .csv file; - reads the input',
    ),
    new Option('--format <format>', 'the format of the file (default: by its name)').choices([
      'ndjson',
      'csv',
    ]),
    new Option('--key-field <name>', 'the field of the input that is the key (default: keys of its own)'),
  ]
  addReportOptions(command, own, { what: `batches of ${BATCH_TASKS_MAX}`, usual: 4, max: 50 })
}

type Given = FileOptions & {
  readonly from: string
  /** The words of the command that give the type and the options of each task. */
  readonly words: readonly string[]
}
type Tally = { ok: number; existed: number; failed: number }

/**
 * Publishes a task for each line. Each task has a key that its line decides, so a command that continues publishes none twice. The
 * report says how each line ended.
 */
export async function publishFile(context: Context, body: PublishBody, options: Given): Promise<number> {
  const { io } = context
  const report = reportFor(context, body, options)
  const tally: Tally = { ok: 0, existed: 0, failed: 0 }
  const progress = createProgress(io.err, io.now)
  const batches = batchesOf(inputLines(options.from, options.format, io.input), report)
  const publishAll = () =>
    forEachConcurrently(batches, options.concurrency, io.signal, async batch => {
      for (const [line, result] of await publishBatch(context, body, options, batch, report.header.run))
        note(report, tally, line, result)
      progress.show(`published: ${tally.ok}${tally.failed > 0 ? `, failed: ${tally.failed}` : ''}`)
    }).finally(() => progress.clear())
  const interrupted = await interruptible(
    context,
    publishAll,
    () => `interrupted after ${tally.ok} tasks: ${resumption(context, options, report)}`,
  )
  return interrupted ?? showSummary(context, tally, options, report)
}

function reportFor({ url, io }: Context, body: PublishBody, options: Given): Report {
  const { from, format, keyField, report, resume } = options
  const settings = { from, format, keyField, task: JSON.stringify(body) }
  const header = { action: 'publish', url, settings }
  if (resume !== undefined) return reopenReport(resume, header)
  const path = report ?? reportName('publish', io.now())
  const at = new Date(io.now()).toISOString()
  return createReport(path, { ...header, at, run: randomUUID(), selects: false })
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

type Ended = PublishResult | { readonly status: number; readonly detail: string }

async function publishBatch(
  { client }: Context,
  body: PublishBody,
  options: Given,
  batch: readonly InputLine[],
  run: string,
): Promise<Array<[InputLine, Ended]>> {
  const made = batch.map(line => [line, taskOf(line, body, options, run)] as const)
  const bodies = made.flatMap(([, task]) => ('type' in task ? [task] : []))
  const results: readonly Ended[] =
    bodies.length === 0
      ? []
      : await client.publishMany(bodies).catch(error => {
          const { status, problem } = asProblem(error)
          return bodies.map(() => ({ status, detail: problem.detail }))
        })
  const waiting = [...results]
  return made.map(([line, task]) => [line, 'type' in task ? (waiting.shift() ?? NO_RESULT) : task])
}

const NO_RESULT = { status: 0, detail: 'the answer has no result for this task' }

/** The task of a line, or why it has none. */
function taskOf(
  { number, input, problem }: InputLine,
  body: PublishBody,
  { keyField }: Given,
  run: string,
): PublishBody | { readonly status: number; readonly detail: string } {
  if (problem !== undefined) return { status: 400, detail: problem }
  if (keyField === undefined) return { ...body, input: input ?? null, key: `${run}-${number}` }
  const key = Object(input)[keyField] as unknown
  if (typeof key === 'string' || typeof key === 'number')
    return { ...body, input: input ?? null, key: String(key) }
  return { status: 400, detail: `the field ${keyField} must be a text or a number: it is the key` }
}

function note(report: Report, tally: Tally, line: InputLine, result: Ended): void {
  const ok = result.status === 200 || result.status === 201
  tally[ok ? 'ok' : 'failed'] += 1
  if (result.status === 200) tally.existed += 1
  const detail = 'detail' in result ? result.detail : result.problem?.detail
  const id = 'id' in result ? result.id : undefined
  report.add({
    ref: String(line.number),
    ok,
    status: result.status,
    ...(ok && { digest: digestOf(line) }),
    ...(id !== undefined && { id }),
    ...(detail !== undefined && { detail }),
  })
}

/** How to continue a report: it takes only the settings with which it began. */
function resumption({ followUp }: Context, options: Given, { path }: Report): string {
  const { words, from, format, keyField } = options
  const file = [
    ...['--from', from],
    ...(format === undefined ? [] : ['--format', format]),
    ...(keyField === undefined ? [] : ['--key-field', keyField]),
  ]
  return `continue with ${followUp('publish', ...words, ...file, '--resume', path)}`
}

function showSummary(
  context: Context,
  { ok, existed, failed }: Tally,
  options: Given,
  report: Report,
): number {
  const { printer } = context
  const { path } = report
  const existing = existed > 0 ? ` (${existed} existed already)` : ''
  const summary = { published: ok - existed, existed, failed, report: path }
  printer.answer(summary, `${ok} published${existing}${failed > 0 ? `, ${failed} failed` : ''}`)
  if (failed > 0) printer.warn(`${path} says why; ${resumption(context, options, report)}`)
  else printer.note(`the report is ${path}`)
  return failed > 0 ? FAILED_EXIT_CODE : 0
}
