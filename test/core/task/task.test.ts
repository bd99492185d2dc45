import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { restart } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { FENCE_EPOCH_MS, fencePassedAt, firstFence } from '../../../shared/core/task/head.ts'
import { attempts } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { effectiveInput, runId, splitRunId, splitTaskId, taskId } from '../../../shared/core/task/task.ts'
import {
  afterOf,
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  DAY,
  LATER_BORN,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'
import { aFlowTask, doneTimes } from '../../support/tasks/flow-life.ts'

describe('a task id', () => {
  it.each([
    ['resize:img-1', { type: 'resize', key: 'img-1' }],
    ['resize:a:b:c', { type: 'resize', key: 'a:b:c' }],
    ['resize::', { type: 'resize', key: ':' }],
    ['a.b_c-d:ключ/#%', { type: 'a.b_c-d', key: 'ключ/#%' }],
    ['resize:', undefined],
    [':key', undefined],
    ['resize', undefined],
    ['', undefined],
  ])('%j splits into %j', (id, expected) => {
    expect(splitTaskId(id)).toEqual(expected)
  })

  it('of any type and key splits into them again', () => {
    const type = fc.stringMatching(/^[A-Za-z0-9._-]{1,100}$/)
    const key = fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' })

    const property = fc.property(type, key, (type, key) => {
      expect(splitTaskId(taskId(type, key))).toEqual({ type, key })
    })
    fc.assert(property)
  })
})

describe('a run id', () => {
  it('splits into birth and fence', () => {
    expect(splitRunId(runId(BORN, 12))).toEqual({ born: BORN, fence: 12 })
  })

  it.each([
    '',
    BORN,
    `${BORN}.`,
    `${BORN}.0`,
    `${BORN}.01`,
    `${BORN}.-1`,
    `${BORN}.1.2`,
    `${BORN}.1x`,
    `${BORN.toLowerCase()}.1`,
    `${BORN.slice(1)}.1`,
    `${BORN}.1234567890123456`,
    `${BORN}.1\n`,
  ])('is not %j', id => {
    expect(splitRunId(id)).toBeUndefined()
  })
})

const failures = (count: number) =>
  Array.from({ length: count }, (_, i) => anEndedRun({ fence: i + 1, state: 'failed' }))

it.each<[string, Task, { used: number; left: number }]>([
  ['before the first run: maxRetries 3 allows four runs', aTask(), { used: 0, left: 4 }],
  ['while the first run continues', aTask({ live: [aRun()] }), { used: 1, left: 3 }],
  ['after a failure', aTask({ ended: failures(1) }), { used: 1, left: 3 }],
  ['after a lost run', aTask({ ended: [anEndedRun({ state: 'lost' })] }), { used: 1, left: 3 }],
  ['after a release', aTask({ ended: [anEndedRun({ state: 'released' })] }), { used: 0, left: 4 }],
  [
    'after the task has failed',
    aTask({ state: 'failed', finishedAt: NOW, ended: failures(4) }),
    { used: 4, left: 0 },
  ],
  [
    'after the task has succeeded',
    aTask({ state: 'succeeded', finishedAt: NOW, ended: [anEndedRun()] }),
    { used: 1, left: 3 },
  ],
  [
    'after the task has failed for good, with budget left',
    aTask({ state: 'failed', finishedAt: NOW, ended: failures(2) }),
    { used: 2, left: 2 },
  ],
  ['of the last step of a flow that has ended', doneTimes(aFlowTask(), 3), { used: 1, left: 1 }],
  ['for two workers', aTask({ options: { concurrency: 2, retry: { maxRetries: 1 } } }), { used: 0, left: 3 }],
  [
    'with a budget for each of three listed workers',
    aTask({
      options: { workerIds: ['a', 'b', 'c'], retry: { scope: 'worker', maxRetries: 1 } },
      ended: failures(1),
    }),
    { used: 1, left: 5 },
  ],
])('attempts %s', (_name, task, expected) => {
  expect(attempts(task)).toEqual(expected)
})

it.each([
  ['appends a chain’s value as one argument', [4], [2, 3], 'append', [4, [2, 3]]],
  ['appends each member of a chord’s array as an argument', [4], [2, 4, 11], 'spread', [4, 2, 4, 11]],
  [
    'puts an error’s message in front',
    [4],
    { error: { name: 'E', message: 'no' }, taskId: 'a:1' },
    'prepend',
    ['no', 4],
  ],
  ['keeps an object unchanged', { x: 1 }, 2, 'append', { x: 1 }],
  ['keeps an absent input absent', undefined, 2, 'append', undefined],
  ['treats an empty array as a list of arguments', [], null, 'append', [null]],
] as const)('%s', (_name, input, previous, handOn, expected) => {
  expect(effectiveInput(input, previous, handOn)).toEqual(expected)
})

const LATER = NOW + 300 * DAY
const published = (now: number, remains?: Task) =>
  create(aPublication({ dueAt: now, options: { retentionMs: 0 } }), remains, now).after
const claimed = (task: Task, now: number) => afterOf(claim(task, { workerId: 'w1' }, now))

/** A task that was claimed this often within one second and then succeeded. */
function ended(task: Task, claims: number, now: number): Task {
  let current = task
  for (let nth = 0; nth < claims; nth++) {
    const run = claimed(current, now)
    const outcome = nth < claims - 1 ? 'release' : 'succeed'
    current = afterOf(finish(run, { born: run.born, fence: run.fence, outcome }, now, 0))
  }
  return current
}

describe('the fences of a key', () => {
  it('grow when the task has expired and its head is deleted', () => {
    const former = ended(published(LATER), 3, LATER)
    const again = claimed(published(LATER + 10 * SECOND), LATER + 10 * SECOND)

    expect(again.fence).toBeGreaterThan(former.fence)
  })

  it('grow even after more than one claim a second: the head then stays as long as needed', () => {
    const former = ended(published(LATER), 500, LATER)
    const { ttl = 0 } = headItem(former)

    const again = published(ttl * SECOND)

    expect(ttl * SECOND).toBeGreaterThan(LATER + 500 * SECOND)
    expect(again.fence).toBeGreaterThan(former.fence)
  })

  it('count on from the remains of the task, or from the present if that is further', () => {
    const many = ended(published(LATER), 100, LATER)
    const few = ended(published(NOW), 1, NOW)
    const how = {
      publication: aPublication({ born: LATER_BORN }),
      clean: ['succeeded'] as const,
      keepInput: true,
    }

    expect(published(LATER + SECOND, many).fence).toBe(many.fence)
    expect(published(LATER, few).fence).toBe(firstFence(LATER))
    expect(afterOf(restart(few, how, LATER)).fence).toBe(firstFence(LATER))
  })

  it('fit into a signed integer of 32 bits until 2094, and new publications begin beyond them in time', () => {
    expect(firstFence(Date.UTC(2094, 0, 1))).toBeLessThan(2 ** 31)
    for (const fence of [0, 1, 27_000_000]) {
      expect(firstFence(fencePassedAt(fence))).toBeGreaterThan(fence)
      expect(fencePassedAt(fence)).toBeLessThan(FENCE_EPOCH_MS + (fence + 120) * SECOND)
    }
  })
})
