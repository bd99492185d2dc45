import { createReadStream, statSync } from 'node:fs'
import { BatonError, type Json, messageOf } from '../../shared/core/values/values.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type InputFormat = (typeof FORMATS)[number]

/** The input of one task: its number in the file from 1 on, and what is wrong with it. */
export type InputLine = { readonly number: number; readonly input?: Json; readonly problem?: string }

/**
 * Yields the inputs in a file: a JSON value on each line, or a CSV record below a line of names. `-` reads the standard input, as
 * NDJSON unless the format says otherwise. A wrong line has a problem and does not end the file.
 *
 * @throws BatonError `invalid` when there is no such file, or its name does not say the format.
 */
export async function* inputLines(
  from: string,
  format: InputFormat | undefined,
  input: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<InputLine> {
  const read = formatOf(from, format) === 'csv' ? csvInputs : ndjsonInputs
  yield* read(texts(from === '-' ? input : fileAt(from)))
}

function formatOf(from: string, format: InputFormat | undefined): InputFormat {
  if (format !== undefined) return format
  if (/\.csv$/i.test(from)) return 'csv'
  if (from === '-' || /\.(ndjson|jsonl)$/i.test(from)) return 'ndjson'
  throw new BatonError('invalid', `${from} ends neither in .ndjson nor in .csv: give --format`)
}

function fileAt(path: string): AsyncIterable<Uint8Array> {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new BatonError('invalid', `there is no file ${path}`)
  return createReadStream(path)
}

/** The text in pieces, without a byte order mark. */
async function* texts(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of chunks)
    yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

async function* ndjsonInputs(pieces: AsyncIterable<string>): AsyncGenerator<InputLine> {
  let number = 0
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield* jsonLine(line, ++number)
  }
  yield* jsonLine(rest, ++number)
}

/** An empty line is not a task. */
function* jsonLine(line: string, number: number): Generator<InputLine> {
  if (line.trim() === '') return
  try {
    yield { number, input: JSON.parse(line) as Json }
  } catch (error) {
    yield { number, problem: `line ${number} is not JSON: ${messageOf(error)}` }
  }
}

type Cell = (text: string) => Json

/** What follows the colon of a column's name, such as `width:number`. Cells of a column without it are texts. */
const CELLS: Readonly<Record<string, Cell>> = {
  text: text => text,
  number: text => {
    const number = Number(text)
    if (text.trim() === '' || !Number.isFinite(number)) throw new Error('is not a number')
    return number
  },
  boolean: text => {
    if (text !== 'true' && text !== 'false') throw new Error('is neither true nor false')
    return text === 'true'
  },
  json: text => JSON.parse(text) as Json,
}

type CsvColumn = { readonly name: string; readonly cell: Cell }

async function* csvInputs(pieces: AsyncIterable<string>): AsyncGenerator<InputLine> {
  let columns: readonly CsvColumn[] | undefined
  let number = 0
  for await (const record of csvRecords(pieces)) {
    if (columns) yield recordInput(columns, record, ++number)
    else columns = record.map(csvColumn)
  }
}

function csvColumn(title: string): CsvColumn {
  const [, name = title, kind = 'text'] = /^(.*):(text|number|boolean|json)$/s.exec(title.trim()) ?? []
  return { name: name.trim(), cell: CELLS[kind] ?? String }
}

/** An empty cell is a field that the input does not have. */
function recordInput(columns: readonly CsvColumn[], record: readonly string[], number: number): InputLine {
  if (record.length !== columns.length)
    return {
      number,
      problem: `record ${number} has ${record.length} cells, but there are ${columns.length} columns`,
    }
  const fields: Array<[string, Json]> = []
  for (const [at, { name, cell }] of columns.entries()) {
    const text = record[at] ?? ''
    if (text === '') continue
    try {
      fields.push([name, cell(text)])
    } catch (error) {
      return { number, problem: `record ${number}, column ${name}: ${text.slice(0, 50)} ${messageOf(error)}` }
    }
  }
  return { number, input: Object.fromEntries(fields) }
}

/**
 * Yields the records of CSV text as RFC 4180 defines it: commas between cells, and quotes around cells that hold commas, quotes or line
 * ends. Empty lines are left out. A small parser of our own: a library would be a dependency of each user's project.
 */
async function* csvRecords(pieces: AsyncIterable<string>): AsyncGenerator<string[]> {
  const state: State = { cell: '', record: [], mode: 'start' }
  for await (const piece of pieces) {
    for (const char of piece) {
      const record = next(state, char)
      if (record) yield record
    }
  }
  const last = next(state, '\n')
  if (last) yield last
}

/** `quoted`: between quotes. `closed`: after a quote that may be the first of two. */
type State = { cell: string; record: string[]; mode: 'start' | 'plain' | 'quoted' | 'closed' }

function next(state: State, char: string): string[] | undefined {
  if (state.mode === 'quoted') {
    if (char === '"') state.mode = 'closed'
    else state.cell += char
    return undefined
  }
  if (char === '"' && state.mode !== 'plain') {
    if (state.mode === 'closed') state.cell += '"'
    state.mode = 'quoted'
    return undefined
  }
  if (char === ',') return endCell(state)
  if (char === '\n') return endRecord(state)
  if (char === '\r') return undefined
  state.cell += char
  state.mode = 'plain'
  return undefined
}

function endCell(state: State): undefined {
  state.record.push(state.cell)
  state.cell = ''
  state.mode = 'start'
}

function endRecord(state: State): string[] | undefined {
  const isEmpty = state.record.length === 0 && state.cell === '' && state.mode === 'start'
  if (isEmpty) return undefined
  endCell(state)
  const { record } = state
  state.record = []
  return record
}
