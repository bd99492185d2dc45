import { describe, expect, it } from 'vitest'
import { parseSearch, stringifySearch } from '../../web/api/search.ts'
import { graphOf } from '../../web/canvases/graph.ts'
import { ownUsd, ratesOfAll, ratesOfType } from '../../web/cost/cost.ts'
import { visible } from '../../web/parts/format.ts'
import { byDay, nextTicks } from '../../web/schedules/next-ticks.ts'
import { bulkOf, RETRY } from '../../web/tasks/actions.ts'
import { searchedPart, tasksOfGroup } from '../../web/tasks/filter.ts'

/** What the pages of the dashboard compute before they draw. */

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()
describe('the cost', () => {
  const now = Date.parse(at(3_600))
  const slot = { at: now, published: 0, started: 0, succeeded: 3, failed: 1, cancelled: 0, lateMs: undefined }
  const cost = {
    from: at(0),
    usd: 4,
    minutes: [
      { at: at(0), usd: 3 },
      { at: at(1_800), usd: 1 },
    ],
    types: [
      { type: 'mail', usd: 2, lastHourUsd: 2 },
      { type: 'canvas', usd: 1, lastHourUsd: 1 },
    ],
  }

  it('of a million tasks and of a day follows from the metered part of the last hour', () => {
    expect(ratesOfType(cost, 'mail', [slot], now)).toEqual({ perMillion: 500_000, perDay: 48 })
    expect(ratesOfAll(cost, [slot], now)).toEqual({ perMillion: 1_000_000, perDay: 96 })
  })

  it('of a type without ended tasks has no cost per million, and one without usage has none', () => {
    expect(ratesOfType(cost, 'mail', [], now)).toEqual({ perMillion: undefined, perDay: 48 })
    expect(ratesOfType(cost, 'pay', [slot], now)).toBeUndefined()
  })

  it('of no type is what remains next to the types on the page', () => {
    expect(ownUsd(cost, ['mail'])).toBe(2)
  })
})

it('the graph of a canvas is rebuilt from the paths of its tasks, whatever their order', () => {
  const leaf = (path: string) => ({ path, taskId: path, status: 'ready' as const })

  const graph = graphOf([leaf('chain.1.chord.then'), leaf('chain.0'), leaf('chain.1.chord.group.0')])

  expect(graph).toEqual({
    kind: 'chain',
    members: [
      { kind: 'task', leaf: leaf('chain.0') },
      {
        kind: 'chord',
        group: { kind: 'group', members: [{ kind: 'task', leaf: leaf('chain.1.chord.group.0') }] },
        callback: { kind: 'task', leaf: leaf('chain.1.chord.then') },
      },
    ],
  })
  expect(graphOf([])).toBeUndefined()
})

it('characters that change the direction of text, or cannot be seen, are written out', () => {
  expect(visible('a\u202Eb\u200Bc\nd é 漢')).toBe(String.raw`a\u202eb\u200bc\u000ad é 漢`)
})

it('an address keeps numbers as text, and repeats a name for a list', () => {
  const search = { type: ['a', 'b'], userId: '0123' }

  expect(parseSearch(stringifySearch(search))).toEqual(search)
  expect(stringifySearch({ type: undefined })).toBe('')
})

it.each([
  ['Error: http://# answered 403: never', 'answered 403: never'],
  ['Error: #', undefined],
  ['TimeoutError: no answer after # ms', 'no answer after'],
])('the tasks of the failures %s are found by %s', (error, part) => {
  expect(searchedPart(error)).toBe(part)
})

it('the tasks of a group of failures failed no earlier than its first failure', () => {
  const group = { type: 'mail', firstAt: at(0) }

  expect(tasksOfGroup({ ...group, error: 'Error: no answer after # ms' })).toEqual({
    ...{ type: ['mail'], status: ['failed'], since: at(0), order: '-ended' },
    error: 'no answer after',
  })
  expect(tasksOfGroup({ ...group, error: 'Error: #' })).toBeUndefined()
})

it.each([
  [{}, { status: ['succeeded', 'failed', 'cancelled'] }],
  [
    { status: ['failed', 'ready'], error: 'x' },
    { status: ['failed'], error: 'x' },
  ],
  [
    { status: ['failed'], order: '-ended', since: at(0) },
    { status: ['failed'], since: at(0) },
  ],
  [{ order: '-created', since: at(0) }, undefined],
  [{ status: ['ready'] }, undefined],
  [{ type: ['mail', 'sms'] }, undefined],
  [{ userId: 'ada' }, undefined],
  [{ tag: ['team:red'] }, undefined],
  [{ until: at(0) }, undefined],
  [{ canvasId: 'c1' }, undefined],
])('a retry of all tasks that fit %o is %o on the server', (filter, body) => {
  expect(bulkOf(RETRY, { type: ['mail'], ...filter } as never)).toEqual(
    body && { action: 'retry', type: 'mail', ...body },
  )
})

describe('the next ticks', () => {
  const schedule = (more: object) =>
    ({ name: 's', task: { type: 't' }, paused: false, timezone: 'Europe/Berlin', ...more }) as never
  const times = (more: object) =>
    nextTicks([schedule(more)], 9).map(({ at }) => new Date(at).toISOString().slice(0, 16))

  it('leave out a time that a clock change skips, as the system does', () => {
    expect(times({ cron: '30 2 * * *', nextRunAt: '2026-03-28T01:30:00Z' }).slice(0, 2)).toEqual([
      '2026-03-28T01:30',
      '2026-03-30T00:30',
    ])
  })

  it('have a time that a clock change repeats once, as the system does', () => {
    expect(times({ cron: '30 2 * * *', nextRunAt: '2026-10-24T00:30:00Z' }).slice(0, 3)).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
  })

  it('have the year when it is another one', () => {
    const noon = (year: number) => Date.UTC(year, 10, 23, 12)
    const ticks = [2026, 2037].map(year => ({ name: 's', type: 't', at: noon(year) }))

    expect(byDay(ticks, noon(2026)).map(([day]) => day)).toEqual(['Monday 23 Nov', 'Monday 23 Nov 2037'])
  })
})
