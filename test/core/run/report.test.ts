import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { headItem, taskFromItem } from '../../../shared/aws/dynamo/head/items.ts'
import { restart } from '../../../shared/core/operate/operate.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Finish, Outcome } from '../../../shared/core/run/run.ts'
import type { EndedRun, Task } from '../../../shared/core/task/task.ts'
import { fitError } from '../../../shared/core/task-error/task-error.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import {
  aFlow,
  afterOf,
  aPublication,
  aRun,
  aTask,
  BORN,
  LATER_BORN,
  NOW,
} from '../../support/tasks/a-task.ts'
import { aFlowTask, claimedBy, done, ended, failedFor, failingFor } from '../../support/tasks/flow-life.ts'

const saying = (outcome: Outcome, fence = 1): Finish => ({ born: BORN, fence, ...outcome })
const failure = { name: 'Error', message: 'no' }
const long = (size: number) => 'x'.repeat(size)

/** The task as a later process reads it. */
function stored(task: Task): Task {
  return taskFromItem(JSON.parse(JSON.stringify(headItem(task))), task.flow?.definition) as Task
}

function answerTo(said: Outcome, repeated: Outcome, task = aTask({ live: [aRun()], stage: 'fetch' })) {
  return finish(stored(afterOf(finish(task, saying(said), NOW, 0))), saying(repeated), NOW + 1, 0)
}

const SAME = { ok: true }
const OTHER = { ok: false, reason: 'ended' }

describe('a repeated report is accepted, and a different one is refused as ended, about', () => {
  const succeed = (result?: Json) =>
    ({ outcome: 'succeed', ...(result !== undefined && { result }) }) as const
  const next = (parts: object = {}) =>
    ({ outcome: 'succeed', result: 1, next: { stage: 'store', ...parts } }) as const
  const fail = (parts: object = {}) => ({ outcome: 'fail', error: failure, ...parts }) as const
  const failWith = (parts: object) => fail({ error: { ...failure, ...parts } })
  const release = (delayMs?: number) =>
    ({ outcome: 'release', ...(delayMs !== undefined && { delayMs }) }) as const

  it.each<[string, Outcome, Outcome]>([
    ['a success', succeed(1), succeed(2)],
    ['a success without a result', succeed(), succeed(null)],
    ['a result and none', succeed(1), succeed()],
    ['a long result', succeed(long(300)), succeed(`${long(299)}y`)],
    ['a long result of another length', succeed(long(300)), succeed(long(301))],
    ['a success and a failure', succeed(1), fail()],
    ['a next stage and a success', next(), succeed(1)],
    ['a success and a next stage', succeed(1), next()],
    ['another stage', next(), next({ stage: 'ship' })],
    ['its input', next({ input: 1 }), next({ input: 2 })],
    ['its priority', next({ priority: 1 }), next()],
    ['its delay', next({ delayMs: 5 }), next({ delayMs: 6 })],
    ['the result before a next stage', next(), { ...next(), result: 2 }],
    ['a failure', fail(), failWith({ message: 'no, not at all' })],
    ['a name', fail(), failWith({ name: 'TypeError' })],
    ['a stack', failWith({ stack: 'a' }), failWith({ stack: 'b' })],
    ['what a head cuts of a message', failWith({ message: long(300) }), failWith({ message: long(301) })],
    ['whether it is fatal', fail(), fail({ fatal: true })],
    ['when to retry', fail({ retryInMs: 5 }), fail({ retryInMs: 6 })],
    ['a retry of its own and the backoff', fail({ retryInMs: 1_000 }), fail()],
    ['a release and its delay', release(5), release(6)],
    ['a release at once', release(), release(5)],
    ['a release and a success', release(), succeed()],
  ])('%s', (_name, said, other) => {
    expect(answerTo(said, said)).toEqual(SAME)
    expect(answerTo(said, other)).toEqual(OTHER)
    expect(answerTo(other, said)).toEqual(OTHER)
  })

  it.each<[string, Outcome, Outcome]>([
    [
      'members in another order',
      succeed({ a: 1, b: [{ c: 2, d: 3 }] }),
      succeed({ b: [{ d: 3, c: 2 }], a: 1 }),
    ],
    [
      'members of a long result in another order',
      succeed({ a: long(300), b: 1 }),
      succeed({ b: 1, a: long(300) }),
    ],
    ['a zero of another sign', succeed(-0), succeed(0)],
    [
      'a name of no meaning elsewhere',
      succeed(JSON.parse('{"__proto__":1}')),
      succeed(JSON.parse('{"__proto__":1}')),
    ],
    [
      'an error and what storing leaves of it',
      failWith({ message: long(9_000) }),
      failWith(fitError({ ...failure, message: long(9_000) })),
    ],
    ['what is not fatal', fail({ fatal: false }), fail()],
    ['no delay', release(0), release()],
    ['a next stage at once', next({ delayMs: 0 }), next()],
  ])('%s, which is stored alike', (_name, said, alike) => {
    expect(answerTo(said, alike)).toEqual(SAME)
    expect(answerTo(alike, said)).toEqual(SAME)
  })

  it('any two results', () => {
    const result = fc.jsonValue() as fc.Arbitrary<Json>

    fc.assert(
      fc.property(result, result, (one, other) => {
        const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
        expect(answerTo(succeed(one), succeed(one)).ok).toBe(true)
        expect(answerTo(succeed(one), succeed(other)).ok).toBe(isSame)
      }),
    )
  })
})

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

describe('the end that a worker reported is recognised', () => {
  const succeed = (result: Json) => ({ outcome: 'succeed', result }) as const

  it.each<[string, (result: Json) => Task, number]>([
    ['of a flow’s step that it did', result => done(aFlowTask(), result), 1],
    [
      'of an undo, though nothing keeps what it returned',
      result => done(failedFor(aFlowTask(), 'no'), result),
      2,
    ],
    ['of a flow’s last step', result => done(done(done(aFlowTask())), result), 3],
  ])('%s', (_name, taskAfter, fence) => {
    const task = stored(taskAfter('said'))

    expect(finish(task, saying(succeed('said'), fence), NOW, 0)).toEqual(SAME)
    expect(finish(task, saying(succeed('other'), fence), NOW, 0)).toEqual(OTHER)
    expect(finish(task, saying({ outcome: 'succeed' }, fence), NOW, 0)).toEqual(OTHER)
  })

  it('of one success among several, also after its stage', () => {
    const two = aTask({
      options: { concurrency: 2 },
      live: [aRun(), aRun({ fence: 2, workerId: 'w2' })],
      stage: 'fetch',
    })
    const first = afterOf(finish(two, saying(succeed(long(300))), NOW, 0))
    const moved = ended(first, { outcome: 'succeed', next: { stage: 'store' } })

    for (const task of [stored(first), stored(moved)]) {
      expect(finish(task, saying(succeed(long(300))), NOW, 0)).toEqual(SAME)
      expect(finish(task, saying(succeed('other')), NOW, 0)).toEqual(OTHER)
    }
  })

  it('of a failure that ended a step, and of one that another step has followed', () => {
    const undoing = stored(failedFor(done(aFlowTask(aFlow())), 'no'))

    expect(finish(undoing, saying(failingFor('no'), 2), NOW, 0)).toEqual(SAME)
    expect(finish(undoing, saying(failingFor('yes'), 2), NOW, 0)).toEqual(OTHER)
    expect(finish(undoing, saying(failingFor('no', false), 2), NOW, 0)).toEqual(OTHER)
  })

  it('by its short error alone, where an earlier version has stored the failure', () => {
    const { reportDigest: _word, ...run } = ended(claimedBy(aTask()), failingFor('no')).ended[1] as EndedRun
    const task = aTask({ ended: [run] })

    expect(finish(task, saying(failingFor('no')), NOW, 0)).toEqual(SAME)
    expect(finish(task, saying(failingFor('yes')), NOW, 0)).toEqual(OTHER)
  })

  it('no longer once the task has dropped the run; then every report is refused', () => {
    const retry = { maxRetries: 9, delayMs: 0 }
    const failing = () => failingFor('no', false)
    let task = aTask({ options: { retry } })
    for (let run = 0; run < 7; run++) task = ended(claimedBy(task), failing())

    expect(finish(task, saying(failing(), 7), NOW, 0)).toEqual(SAME)
    expect(finish(task, saying(failing(), 1), NOW, 0)).toEqual(OTHER)
  })

  it('no longer once the task was restarted', () => {
    const again = {
      publication: aPublication({ born: LATER_BORN }),
      clean: ['succeeded'] as const,
      keepInput: true,
    }
    const task = afterOf(restart(done(aTask(), 'said'), again, NOW))

    expect(finish(task, saying(succeed('said')), NOW, 0)).toEqual({ ok: false, reason: 'removed' })
  })
})

it('a head keeps no digest of a plain success or a plain release', () => {
  const task = claimedBy(aTask())

  expect(ended(task, { outcome: 'succeed', result: 1 }).ended[1]).not.toHaveProperty('reportDigest')
  expect(ended(task, { outcome: 'release' }).ended[1]).not.toHaveProperty('reportDigest')
  expect(claim(task, { workerId: 'w2' }, NOW).ok).toBe(false)
})
