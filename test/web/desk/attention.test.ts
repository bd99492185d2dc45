import { expect, it } from 'vitest'
import { ratesOf } from '../../../web/charts/series.ts'
import { attentionOf, type Known } from '../../../web/overview/attention.ts'

/** What needs attention: its order, its words, and that each cause appears once. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = Date.parse('2026-11-28T12:30:00Z')
const ago = (ms: number) => new Date(NOW - ms).toISOString()

const quiet = {
  ...{ types: [], counts: [], schedules: [], workers: [], failures: { items: [] } },
  activity: { from: ago(HOUR), to: ago(0), items: [] },
  attention: { halted: [], haltedCount: 0, deadLetters: [], moreDeadLetters: false, actions: [] },
}
const found = (known: object) => attentionOf({ ...quiet, ...known } as unknown as Known, NOW)
const texts = (known: object) => found(known).map(({ text }) => text.replaceAll('\u00a0', ' '))

const render = { type: 'render', kind: 'http', paused: false }
const live = { id: 'w1', state: 'live', types: ['render'], running: 0 }
const dead = { id: 'w2', state: 'dead', types: ['render'], running: 2, lastSeen: ago(3 * MINUTE) }
const counts = (ready: number, sinceMs = 1_000) => [
  { type: 'render', counts: { ready }, readySince: ago(sinceMs) },
]
const waiting = { types: [render], counts: counts(12) }
const busy = (published: number, succeeded: number, failed = 0, type = 'render') => ({
  ...{ from: '2026-11-28T11:30:00Z', to: ago(0) },
  items: [
    {
      type,
      minutes: [{ at: ago(5 * MINUTE), published, started: 0, succeeded, failed, cancelled: 0 }],
    },
  ],
})
const failures = (
  count: number,
  hours: ReadonlyArray<readonly [number, number]>,
  firstMs: number,
  type = 'render',
) => ({
  items: [
    {
      ...{ type, error: 'TypeError: # is undefined', count, firstAt: ago(firstMs) },
      hours: hours.map(([hour, of]) => ({ at: `2026-11-28T${hour}:00:00Z`, count: of })),
    },
  ],
})
const halted = (id: string) => ({
  ...{ id, type: 'order', finishedAt: ago(2 * MINUTE) },
  steps: [
    { name: 'charge', state: 'undone' },
    { name: 'reserve', state: 'undo-failed' },
  ],
})
const ofHalted = (...ids: string[]) => ({
  ...quiet.attention,
  ...{ halted: ids.map(halted), haltedCount: ids.length },
})

it.each<readonly [name: string, known: object, expected: readonly string[]]>([
  [
    'a half-undone saga, with the step whose undo has failed',
    { attention: ofHalted('order:1') },
    [
      'order:1 is half undone: the undo of its step reserve failed for good 2 min ago. What the steps before it did is still in place.',
    ],
  ],
  [
    'halted tasks that were not read as one more row',
    { attention: { ...ofHalted('order:1'), haltedCount: 6 } },
    [
      expect.stringMatching(/^order:1 is half undone/),
      '5 further tasks halted earlier and wait for an operator. They appear here when those above are decided.',
    ],
  ],
  [
    'a type that no worker serves, which is not late as well',
    { ...waiting, counts: counts(12, HOUR) },
    ['No worker serves render; 12 tasks wait. Start a worker of this type.'],
  ],
  [
    'the last worker of a type that died, which is not named a second time',
    { ...waiting, workers: [dead] },
    ['No worker serves render since w2 died 3 min ago; 12 tasks wait. Start a worker of this type.'],
  ],
  [
    'a dead worker whose types others serve',
    { ...waiting, workers: [live, dead] },
    [
      '1 worker died within a day: w2; the last sign of life was 3 min ago. Other workers take over 2 tasks that ran there.',
    ],
  ],
  [
    'many dead workers as one row',
    { workers: ['a', 'b', 'c', 'd'].map(id => ({ ...dead, id, running: 0 })) },
    [
      '4 workers died within a day: a, b, c and 1 more; the last sign of life was 3 min ago. No task ran there.',
    ],
  ],
  [
    'tasks that wait too long',
    { ...waiting, counts: counts(12, 12 * MINUTE), workers: [live] },
    [
      '12 tasks wait for a worker of render, one of them for 12 min. Its workers do not keep up, or a limit holds the tasks back.',
    ],
  ],
  [
    'a backlog that grows',
    { types: [render], counts: counts(50), workers: [live], activity: busy(300, 180) },
    [
      'More tasks of render come than are worked off: 300 were published in the last 15 min, and 180 ended; 50 tasks wait.',
    ],
  ],
  [
    'a backlog that is worked off is nothing',
    { types: [render], counts: counts(50), workers: [live], activity: busy(300, 400) },
    [],
  ],
  [
    'a paused type whose tasks wait',
    { ...waiting, counts: counts(12, HOUR), types: [{ ...render, paused: true }] },
    ['render is paused; 12 tasks wait.'],
  ],
  ['a paused type without tasks is nothing', { types: [{ ...render, paused: true }], counts: counts(0) }, []],
  [
    'a spike of failures, against the hours before',
    { types: [render], activity: busy(300, 0, 300), failures: failures(300, [[12, 300]], 20 * MINUTE) },
    [
      'About 300 runs of render failed in the last hour, none in the hours before; 300 tasks failed for good. Most often: “TypeError: # is undefined”.',
    ],
  ],
  [
    'a failure that has halted its task is not a second row',
    {
      types: [{ ...render, type: 'order', kind: 'flow' }],
      activity: busy(1, 0, 1, 'order'),
      failures: failures(2, [[12, 2]], MINUTE, 'order'),
      attention: ofHalted('order:1'),
    },
    [expect.stringMatching(/^order:1 is half undone/)],
  ],
  [
    'failures as usual are nothing, however many there were',
    {
      types: [render],
      failures: failures(
        230,
        Array.from({ length: 12 }, (_, hour) => [hour + 1, 10] as const),
        23 * HOUR,
      ),
    },
    [],
  ],
  [
    'a few failed runs without a failed task are nothing',
    { types: [render], failures: failures(3, [[12, 3]], MINUTE) },
    [],
  ],
  [
    'a tick that has not come, and one that published nothing',
    {
      schedules: [
        { name: 'nightly', nextRunAt: ago(9 * MINUTE) },
        { name: 'weekly', lastError: { name: 'E', message: 'there is no such type' } },
        { name: 'paused', paused: true, nextRunAt: ago(9 * MINUTE) },
      ],
    },
    [
      'The schedule nightly should have ticked 9 min ago and has not: its task is not published.',
      'The last tick of the schedule weekly published nothing: there is no such type',
    ],
  ],
  [
    'messages that were given up, of each queue',
    {
      attention: {
        ...quiet.attention,
        deadLetters: [
          { queue: 'type:render', count: 3, replayable: 3, lastAt: ago(4 * MINUTE) },
          { queue: 'stream', count: 1, replayable: 0, lastAt: ago(25 * HOUR) },
        ],
      },
    },
    [
      '3 messages of the queue type:render were given up, the last one 4 min ago. The sweeper replaces what they announced; their cause remains.',
    ],
  ],
])('is %s', (_, known, expected) => {
  expect(texts(known)).toEqual(expected)
})

it('is ordered by urgency, and each row has a name of its own', () => {
  const types = ['paused', 'late', 'unserved', 'failing'].map(type => ({
    ...render,
    type,
    paused: type === 'paused',
  }))
  const rows = found({
    types,
    counts: types.map(({ type }) => ({ type, counts: { ready: 5 }, readySince: ago(5 * MINUTE) })),
    workers: [{ ...live, types: ['late', 'paused'] }, dead],
    failures: failures(30, [[12, 30]], MINUTE, 'failing'),
    schedules: [{ name: 'nightly', nextRunAt: ago(HOUR) }],
    attention: {
      ...ofHalted('order:1'),
      deadLetters: [{ queue: 'wake', count: 1, replayable: 1, lastAt: ago(MINUTE) }],
    },
  })

  expect(rows.map(({ id }) => id)).toEqual([
    'halted order:1',
    'unserved unserved',
    'unserved failing',
    'spike failing',
    'schedule nightly',
    'letters wake',
    'late late',
    'dead workers',
    'paused paused',
  ])
})

it('counts the failures of the last hour by its part of the hours of the clock', () => {
  const {
    items: [group],
  } = failures(
    100,
    [
      [10, 60],
      [11, 20],
      [12, 20],
    ],
    3 * HOUR,
  )

  expect(ratesOf(group as never, NOW)).toEqual({ lastHour: 30, anHourBefore: 35 })
})
