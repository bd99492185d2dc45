import { describe, expect, it } from 'vitest'
import { type Clean, restart } from '../../../shared/core/operate/operate.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import {
  afterOf,
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  LATER_BORN,
  NOW,
} from '../../support/tasks/a-task.ts'

const options = { concurrency: 3 }
const publication = aPublication({ born: LATER_BORN, options })
const half = aTask({
  state: 'failed',
  finishedAt: NOW,
  expiresAt: NOW + 1,
  error: { name: 'Error', message: 'no' },
  revision: 8,
  fence: 5,
  options,
  ended: [
    anEndedRun({ fence: 1, workerId: 'w1' }),
    anEndedRun({ fence: 2, workerId: 'w2', state: 'failed' }),
    anEndedRun({ fence: 3, workerId: 'w3', state: 'lost' }),
    anEndedRun({ fence: 4, workerId: 'w4', state: 'cancelled' }),
    anEndedRun({ fence: 5, workerId: 'w5', state: 'released' }),
  ],
})

describe('a restart', () => {
  it.each<[Clean, number[]]>([
    [['failed', 'succeeded'], []],
    [['failed'], [1]],
    [['succeeded'], [2, 3, 4, 5]],
    [[], [1, 2, 3, 4, 5]],
  ])('that cleans %j keeps the runs %j', (clean, fences) => {
    const after = afterOf(restart(half, { publication, clean, keepInput: false }, NOW))

    expect(Object.values(after.ended).map(run => run.fence)).toEqual(fences)
  })

  it('begins a new birth with a fresh budget, while revisions and fences continue growing', () => {
    const { after, guard } = changeOf(restart(half, { publication, clean: [], keepInput: false }, NOW))

    expect(after).toMatchObject({
      born: LATER_BORN,
      operation: 'restart',
      state: 'open',
      revision: 9,
      fence: 5,
      failures: 0,
      failuresBy: {},
      view: { bucket: 'open' },
    })
    for (const remains of ['error', 'finishedAt', 'expiresAt', 'startedAt'])
      expect(after).not.toHaveProperty(remains)
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 8, leases: [] })
  })

  it('counts kept successes: their workers may not claim again, and one worker fewer is wanted', () => {
    const after = afterOf(restart(half, { publication, clean: ['failed'], keepInput: false }, NOW))

    expect(claim(after, { workerId: 'w1' }, NOW)).toMatchObject({ reason: 'already-succeeded' })
    expect(claim(after, { workerId: 'w2' }, NOW)).toMatchObject({ ok: true, run: { fence: 6 } })
  })

  it('lets a worker that had spent its own budget try again', () => {
    const retry = { scope: 'worker', maxRetries: 0 } as const
    const task = aTask({
      state: 'failed',
      finishedAt: NOW,
      options: { retry },
      ended: [anEndedRun({ state: 'failed' })],
    })
    const again = aPublication({ born: LATER_BORN, options: { retry } })

    const after = afterOf(restart(task, { publication: again, clean: [], keepInput: false }, NOW))

    expect(claim(after, { workerId: 'w1' }, NOW)).toMatchObject({ ok: true })
  })

  it.each([
    [true, undefined, { inline: 'old' }],
    [false, 'new', { inline: 'new' }],
    [false, undefined, undefined],
  ])('with keepInput %s and input %j has %j', (keepInput, input, expected) => {
    const task = { ...half, input: { inline: 'old' } }
    const how = { publication: { ...publication, ...(input && { input }) }, clean: [], keepInput }

    expect(afterOf(restart(task, how, NOW)).input).toEqual(expected)
  })
})

it('a waiting task is started over only with evenWaiting', () => {
  const how = { publication: aPublication({ born: LATER_BORN }), clean: [], keepInput: false }

  expect(restart(aTask(), how, NOW)).toEqual({ ok: false, reason: 'not-finished' })
  expect(afterOf(restart(aTask(), { ...how, evenWaiting: true }, NOW)).born).toBe(LATER_BORN)
})

describe('a restart is refused', () => {
  const how = { publication, clean: [], keepInput: false }

  it.each([
    ['running', 'while it runs', aTask({ live: [aRun()] })],
    ['not-finished', 'while it waits', aTask()],
    ['not-finished', 'once it was removed', aTask({ state: 'removed' })],
    [
      'nothing-to-do',
      'when the kept successes are all that the task needs',
      aTask({
        state: 'succeeded',
        finishedAt: NOW,
        ended: [1, 2, 3].map(fence => anEndedRun({ fence, workerId: `w${fence}` })),
      }),
    ],
  ])('as %s %s', (reason, _name, task) => {
    expect(restart(task, { ...how, evenWaiting: reason !== 'not-finished' }, NOW)).toEqual({
      ok: false,
      reason,
    })
  })
})
