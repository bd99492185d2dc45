import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cancel, recordCallbacksPublished } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { countOutcomes } from '../../../shared/runtime/stream/events.ts'
import { afterOf, aPublication, aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aFlowTask, claimedBy, DONE, ended, failingFor } from '../../support/tasks/flow-life.ts'

type Counts = Record<string, number>

function aCounter() {
  const counts: Counts = {}
  const errors: string[] = []
  const metrics = {
    add: (name: string, value: number) => {
      counts[name] = (counts[name] ?? 0) + value
    },
  }
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (text: string) => void errors.push(text),
  }
  return { counting: { metrics, log }, counts, errors }
}

/** The changes of a batch, at the positions p0, p1 and so on. */
function changesOf(tasks: readonly Task[]) {
  return tasks.map((task, nth) => ({ task, position: `p${nth}` }))
}

function countedOnce(tasks: readonly Task[]): Counts {
  const { counting, counts } = aCounter()
  const changes = changesOf(tasks)
  countOutcomes(counting, changes, { positions: changes.map(({ position }) => position), failed: [] })
  return counts
}

/**
 * The states of a task after each change. The first function creates the task, and each further one changes the
 * state before.
 */
function lifeOf(first: Task, ...changes: ReadonlyArray<(task: Task) => Task>): Task[] {
  const life = [first]
  for (const change of changes) life.push(change(life.at(-1) ?? first))
  return life
}

const published = (options: Parameters<typeof aPublication>[0] = {}) =>
  create(aPublication({ dueAt: NOW, ...options }), undefined, NOW).after
const taken = (task: Task) => claimedBy(task, 'w1', NOW + 100 * SECOND)
const NO: Outcome = { outcome: 'fail', error: { name: 'Error', message: 'no' }, retryInMs: 0 }
const failing = (task: Task) => ended(task, NO, NOW + 100 * SECOND)
const succeeding = (task: Task) => ended(task, DONE, NOW + 100 * SECOND)
const undoFailing = (task: Task) => ended(task, failingFor('bank closed'))

const LIVES: ReadonlyArray<readonly [string, readonly Task[], Counts]> = [
  ['a task that succeeds', lifeOf(published(), taken, succeeding), { Published: 1, Succeeded: 1 }],
  [
    'one that fails twice before',
    lifeOf(published(), taken, failing, taken, failing, taken, succeeding),
    { Published: 1, Retried: 2, Succeeded: 1 },
  ],
  [
    'one that spends its budget',
    lifeOf(published({ options: { retry: { maxRetries: 1 } } }), taken, failing, taken, failing),
    { Published: 1, Retried: 1, Failed: 1 },
  ],
  [
    'one that failed and was cancelled before its retry',
    lifeOf(published(), taken, failing, task => afterOf(cancel(task, NOW + 200 * SECOND))),
    { Published: 1 },
  ],
  [
    'a flow that fails for good and cannot undo a step, however many runs that took',
    lifeOf(
      aFlowTask(),
      task => claimedBy(task),
      task => ended(task, failingFor('declined')),
      task => claimedBy(task),
      undoFailing,
    ),
    { Published: 1, Failed: 1, NeedsAttention: 1 },
  ],
  [
    'an end whose callbacks are published afterwards',
    lifeOf(aTask({ state: 'failed', operation: 'fail', owes: true }), task =>
      afterOf(recordCallbacksPublished(task, NOW)),
    ),
    { Failed: 1 },
  ],
]

describe('outcomes of tasks are counted', () => {
  it.each(LIVES)('%s', (_name, life, counts) => {
    expect(countedOnce(life)).toEqual(counts)
  })

  it('once for each change, however often parts of its batch are delivered again', () => {
    const life = LIVES.flatMap(([, tasks]) => tasks)
    const failuresOfEachDelivery = fc.array(fc.array(fc.nat(life.length - 1), { minLength: 1 }), {
      maxLength: 8,
    })

    fc.assert(
      fc.property(failuresOfEachDelivery, deliveries => {
        const { counting, counts } = aCounter()
        let batch = changesOf(life)
        for (const failures of [...deliveries, []]) {
          const positions = batch.map(({ position }) => position)
          const failed = failures.map(nth => `p${nth}`).filter(position => positions.includes(position))
          countOutcomes(counting, batch, { positions, failed })
          const first = positions.findIndex(position => failed.includes(position))
          batch = first < 0 ? [] : batch.slice(first)
        }

        expect(counts).toEqual(countedOnce(life))
      }),
    )
  })

  it('except for a change that cannot be read, while the rest of its batch counts', () => {
    const { counting, counts, errors } = aCounter()
    const poison = { ...aTask(), live: undefined, ended: undefined } as unknown as Task
    const changes = changesOf([poison, published()])

    countOutcomes(counting, changes, { positions: ['p0', 'p1'], failed: [] })

    expect([counts, errors.length]).toEqual([{ Published: 1 }, 1])
  })
})
