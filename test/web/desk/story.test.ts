import { describe, expect, it } from 'vitest'
import { clockTicksOf, stepOf, ticksOf, timeStepOf } from '../../../web/charts/ticks.ts'
import { duration, exactTime, localTime, relative, withButtons } from '../../../web/parts/format.ts'
import { spanOf, storyOf } from '../../../web/task/story.ts'

/** The story of a task, the marks of axes, and times as text. */

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()
const boom = { name: 'Error', message: 'boom' }
const run = (from: number, to: number | undefined, state: string, more: object = {}) => ({
  ...{ id: `r${from}`, workerId: 'w', fence: from, state, startedAt: at(from), ...more },
  ...(to === undefined ? { leaseUntil: at(from + 15) } : { endedAt: at(to) }),
})
const task = (more: object) =>
  ({
    ...{ id: 't:1', createdAt: at(0), dueAt: at(0), runs: [], attempts: { used: 0, left: 1 } },
    ...{ concurrency: 1, ...more },
  }) as never
const NOW = 200
const story = (more: object, limit?: string) => storyOf(task(more), Date.parse(at(NOW)), limit)
const titlesOf = (more: object, limit?: string) =>
  story(more, limit).map(({ title, outcome }) =>
    [title.replaceAll('\u00a0', ' '), outcome].filter(Boolean).join(': '),
  )

describe('the story of a task', () => {
  it.each<[string, object, string[]]>([
    [
      'that waited for its time, failed, and succeeded',
      {
        status: 'succeeded',
        dueAt: at(190),
        runs: [run(191, 192, 'succeeded'), run(182, 183, 'failed', { error: boom })],
        finishedAt: at(192),
      },
      [
        'Published',
        'Waited 3 min 2 s for its first attempt',
        'Attempt 1: failed',
        'Waited 7 s for its retry',
        'Waited 1 s to be started',
        'Attempt 2: succeeded',
        'Ended after 3 min 12 s: succeeded',
      ],
    ],
    [
      'that a child waited for',
      { status: 'running', parentId: 'p:1', dueAt: at(182), runs: [run(182, undefined, 'running')] },
      ['Published by', 'Waited 3 min 2 s for its time', 'Attempt 1: running'],
    ],
    [
      'of a stage whose older attempts are not in the answer',
      { status: 'failed', attempts: { used: 25, left: 0 }, runs: [run(0, 1, 'failed'), run(1, 2, 'lost')] },
      ['Published', 'Attempt 24: failed', 'Attempt 25: lost', 'Waits to be started'],
    ],
    [
      'whose steps are numbered one by one',
      {
        ...{ status: 'running', steps: [], attempts: { used: 1, left: 2 } },
        runs: [run(0, 1, 'succeeded', { stage: 'a' }), run(1, undefined, 'running', { stage: 'b' })],
      },
      ['Published', 'Attempt 1: succeeded', 'Attempt 1: running'],
    ],
    [
      'that people have cancelled and retried',
      {
        status: 'ready',
        statusReason: 'no-worker',
        createdAt: at(100),
        operations: [
          { at: at(50), by: 'ada', what: 'cancel' },
          { at: at(100), by: 'bob', what: 'restart' },
          { at: at(120), by: 'bob', what: 'patch' },
        ],
      },
      ['Cancelled', 'Started over', 'Waits for a worker: none serves its type', 'Changed'],
    ],
    [
      'whose callbacks cannot be published',
      { status: 'failed', finishedAt: at(1), callbackProblems: [{ path: 'onError', message: 'no type' }] },
      [
        'Published',
        'Waited 1 s for its first attempt',
        'Ended after 1 s: failed',
        'Its callbacks cannot be published',
      ],
    ],
  ])('%s', (_what, more, titles) => {
    expect(titlesOf(more)).toEqual(titles)
  })

  it('names the limit that it waits for', () => {
    expect(titlesOf({ status: 'ready', statusReason: 'concurrency-limit' }, 'resize=customer-7')).toEqual([
      'Published',
      'Waits for a permit of resize=customer-7',
    ])
  })

  it('shows each error once', () => {
    const failed = [1, 2, 3].map(nth => run(nth, nth + 0.5, 'failed', { error: boom }))
    const ended = { status: 'failed', finishedAt: at(4), error: boom }
    const shown = (more: object) =>
      story({ ...ended, ...more }).filter(({ detail = {} }) => detail.error && !detail.errorIsIn)

    expect(shown({ runs: failed }).map(({ id }) => id)).toEqual(['r3'])
    expect(shown({ runs: failed, steps: [{ error: boom }] })).toEqual([])
    expect(shown({}).map(({ id }) => id)).toEqual(['end'])
  })

  it('is drawn from the publish to the end, to the due time, or to the end of a lease', () => {
    const lengthOf = (more: object) => {
      const { from, to } = spanOf(task(more), story(more))
      return (to - from) / 1_000
    }

    expect(lengthOf({ status: 'succeeded', finishedAt: at(6) })).toBe(6)
    expect(lengthOf({ status: 'delayed', statusReason: 'due', dueAt: at(900) })).toBe(900)
    expect(lengthOf({ status: 'running', runs: [run(199, undefined, 'running')] })).toBe(199 + 15)
    expect(lengthOf({ createdAt: at(196), runs: [run(199, undefined, 'running')] })).toBe(2 * 4)
  })
})

describe('the marks of an axis', () => {
  it.each([
    [2_300, 4, 1_000],
    [700, 4, 200],
    [48_000, 4, 15_000],
    [2_000_000, 3, 900_000],
    [5 * 86_400_000, 3, 2 * 86_400_000],
    [40_000 * 86_400_000, 4, 10_000 * 86_400_000],
  ])('of %d ms are at most %d, %d ms apart', (ms, count, step) => {
    expect(timeStepOf(ms, count)).toBe(step)
    expect(ticksOf(0, ms, step).length).toBeLessThanOrEqual(count + 1)
  })

  it('of numbers are 1, 2 or 5 × 10ⁿ apart', () => {
    expect([3, 7, 14, 41, 900, 33_000].map(length => stepOf(length, 3))).toEqual([
      ...[1, 5, 5, 20, 500, 20_000],
    ])
  })

  it('of an hour are at quarters of the local hour', () => {
    const from = Date.parse(at(7 * 60))
    const ticks = clockTicksOf(from, from + 3_600_000, 5)

    expect(ticks).toHaveLength(4)
    expect(ticks.map(tick => new Date(tick).getMinutes() % 15)).toEqual([0, 0, 0, 0])
  })
})

it.each([
  [340, '340 ms'],
  [1_240, '1.2 s'],
  [245_000, '4 min 5 s'],
  [7_800_000, '2 h 10 min'],
  [273_600_000, '3 d 4 h'],
])('%s ms are %s, on one line', (ms, text) => {
  expect(duration(ms)).toBe(text.replaceAll(' ', '\u00a0'))
})

it('a time is shown as its distance, as a local time, and exactly', () => {
  const now = Date.parse(at(100))

  expect([at(100), at(112.5), at(40), at(-4_000)].map(one => relative(one, now))).toEqual([
    'now',
    'in 12 s',
    '1 min ago',
    '1 h ago',
  ])
  expect(localTime(at(100), now)).toMatch(/^\d\d:\d\d:40$/)
  expect(localTime(at(100 + 3 * 86_400), now)).toMatch(/^[34] Jan 2026, \d\d:\d\d:40$/)
  expect(localTime(at(-9 * 86_400), now)).toMatch(/^2[23] Dec 2025, \d\d:\d\d:00$/)
  expect(exactTime(at(100))).toMatch(/^(31 Dec 2025|1 Jan 2026), .+ · 2026-01-01T00:01:40\.000Z$/)
})

it.each([
  ['PATCH /v1/tasks/a:b.c with {"delayMs": 0} retries now;', '“Change” retries now;'],
  ['POST /v1/tasks/a:b/retry with {"action": "retry-undo"}, or not.', '“Undo again”, or not.'],
  ['Wait, or end a holder: POST /v1/tasks/a:b/cancel.', 'Wait, or end a holder: “Cancel”.'],
  ['POST /v1/dead-letters/replay with {"ids": ["a"]}.', '“Send again”.'],
  ['POST /v1/claims with {"type": "a"}.', 'POST /v1/claims with {"type": "a"}.'],
])('%s names the button: %s', (advice, text) => {
  expect(withButtons(advice)).toBe(text)
})
