import { describe, expect, it } from 'vitest'
import { formOf, variantOf } from '../../../web/publish/schema.ts'
import {
  limitSentences,
  optionSentences,
  scheduleSentences,
  waitingSentence,
} from '../../../web/settings/sentences.ts'
import { differencesOf, inWords } from '../../../web/settings/settings.ts'

/** What settings do, in sentences, and how the API's schemas become forms. */

const SECOND = 1_000
const DAY = 86_400_000

it.each([
  [{}, ['Tasks start as fast as workers take them.']],
  [
    { rate: { limit: 50, perMs: SECOND, key: 'customer' } },
    ['At most 50 starts a second for each customer.'],
  ],
  [{ rate: { limit: 1, perMs: 90 * SECOND } }, ['At most 1 start in any 1 min 30 s.']],
  [
    { rate: { limit: 9, perMs: DAY, key: 'userId' }, concurrency: { max: 5, key: 'fairnessKey' } },
    ['At most 9 starts a day for each user.', 'At most 5 runs at a time for each tenant.'],
  ],
])('the limits %o are %o', (limits, sentences) => expect(limitSentences(limits)).toEqual(sentences))

it.each([
  [[], 'customer', 'Nothing waits for it now.'],
  [[{ tasks: 1 }], undefined, '1 task waits now.'],
  [[{ tasks: 2 }], 'customerId', '1 customer waits now, with 2 tasks.'],
  [[{ tasks: 10 }, { tasks: 1 }, { tasks: 1 }], 'customer', '3 customers wait now, with 12 tasks.'],
  [[{ tasks: 100 }], undefined, '100 tasks or more wait now.'],
])('what waits, %o by %s, is %s', (waiting, key, sentence) =>
  expect(waitingSentence(waiting, key, 100)).toBe(sentence),
)

describe('the options of a type', () => {
  it.each([
    [{}, 'Tries 4 times, after 1 s, 2 s and 4 s; fails for good after 7 s at the earliest.'],
    [{ maxRetries: 0 }, 'Tries once: the first failure is for good.'],
    [
      { maxRetries: 1, backoff: 'fixed', delayMs: 1_500, jitter: 0.2 },
      'Tries 2 times, after 1 s 500 ms, each up to 20 % shorter by chance; fails for good after 1 s 200 ms at the earliest.',
    ],
    [
      { maxRetries: 8, maxDelayMs: 10 * SECOND },
      'Tries 9 times, after 1 s, 2 s, 4 s, 8 s, 10 s and so on up to 10 s; fails for good after 55 s at the earliest.',
    ],
  ] as const)('with the retries %o: %s', (retry, sentence) =>
    expect(optionSentences('http', { retry })[0]).toBe(sentence),
  )

  it('say what its time limits do, and leave out what only the steps of a flow have', () => {
    expect(optionSentences('http', { timeoutMs: SECOND, deadlineMs: 600_000 }).slice(1)).toEqual([
      'A run that takes longer than 1 s has failed.',
      'A task fails for good 10 min after its due time.',
      'After 15 s without a heartbeat another worker takes a task over.',
      'An ended task is kept for 7 d.',
    ])
    expect(optionSentences('flow', {})).toEqual(['An ended task is kept for 7 d.'])
  })
})

it.each([
  [{ cron: '0 3 * * *' }, 'Ticks by 0 3 * * * (UTC).', /only the latest .* at most 5 min late/],
  [{ everyMs: 300_000, missed: 'skip', graceMs: 3_600_000 }, 'Ticks every 5 min.', /at most 1 h late/],
  [{ everyMs: SECOND, missed: { catchUp: 3 } }, 'Ticks every 1 s.', /the latest 3 ticks .* however late/],
  [{ at: '2026-01-31T12:00:00Z' }, /^Ticks once, 31 Jan 2026/, /the latest 1 tick /],
] as const)('the schedule %o: %s', (timing, when, missed) => {
  const [ticks, made] = scheduleSentences(timing)

  expect(ticks).toMatch(when)
  expect(made).toMatch(missed)
})

it('settings differ by the paths that another person has changed', () => {
  const before = { kind: 'http', limits: { rate: { limit: 5, perMs: SECOND } }, shards: 4 }
  const after = { kind: 'http', limits: { rate: { limit: 9, perMs: SECOND }, concurrency: { max: 1 } } }

  expect(differencesOf(before, before)).toEqual([])
  expect(differencesOf(before, after)).toEqual([
    'limits.rate.limit: 5 → 9',
    'limits.concurrency: left out → {"max":1}',
    'shards: 4 → left out',
  ])
})

describe('a form of settings', () => {
  it('has words for names, and shows milliseconds in seconds', () => {
    const schema = {
      type: 'object',
      properties: {
        leaseMs: {
          ...{ type: 'integer', minimum: 100 },
          description:
            'How long a run holds its task, in milliseconds. More than `heartbeatMs`. Default: 15,000.',
        },
        maxRetries: { type: 'integer' },
      },
    }

    expect(formOf(inWords(schema))).toMatchObject({
      members: [
        [
          'leaseMs',
          {
            ...{ kind: 'number', unit: 1_000, min: 100, title: 'Lease, in seconds' },
            hint: 'How long a run holds its task. More than “Heartbeat”. Default: 15.',
          },
        ],
        ['maxRetries', { title: 'Max retries', unit: 1 }],
      ],
    })
  })

  it('lets a reader choose between a word and an object', () => {
    const form = formOf({
      anyOf: [{ const: 'skip' }, { type: 'object', properties: { catchUp: { type: 'integer' } } }],
    })
    if (form?.kind !== 'union') throw new Error(`no choice, but ${form?.kind}`)

    expect(form.variants.map(({ title }) => title)).toEqual(['skip', 'catchUp'])
    expect([undefined, 'skip', { catchUp: 2 }].map(value => variantOf(form.variants, value))).toEqual([
      0, 0, 1,
    ])
  })
})
