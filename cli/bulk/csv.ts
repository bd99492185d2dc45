/**
 * Yields the records of CSV text as RFC 4180 defines it: commas between cells, and quotes around cells that hold commas, quotes or line
 * ends. Empty lines are left out. A small parser of our own: a library would be a dependency of each user's project.
 */
export async function* csvRecords(pieces: AsyncIterable<string>): AsyncGenerator<string[]> {
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
