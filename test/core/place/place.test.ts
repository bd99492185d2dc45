import { describe, expect, test } from 'vitest'
import { minuteOf, minuteStart, withIndexEntries } from '../../../shared/core/place/place.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { anEndedRun, aRun, aTask, HOUR, MINUTE, NOW } from '../../support/tasks/a-task.ts'

const far = NOW + 15 * MINUTE + 1
const two = { options: { concurrency: 2 } } as const
const waitingFor = (limit: string) => ({ wait: { kind: 'permit', limit } }) as const
const withSlotAt = (at: number) =>
  ({ wait: { kind: 'slot', limit: 'resize', rateText: '1/1000', at } }) as const
const runningPlaceAt = { name: 'running#resize#0', order: '0' }

describe('the place of a task', () => {
  test.each<[string | undefined, string, Task]>([
    [undefined, 'a due task of a handler has a message', aTask()],
    [undefined, 'so has one due within a queue delay', aTask({ dueAt: far - 1 })],
    [`minute#${minuteOf(far)}#`, 'beyond that it waits for its minute', aTask({ dueAt: far })],
    [`minute#${minuteOf(far)}#`, 'over HTTP too', aTask({ dueAt: far, kind: 'http' })],
    ['ready#resize#0', 'a due task over HTTP is found by its workers', aTask({ kind: 'http' })],
    [`minute#${minuteOf(far)}#`, 'a due task waits for the minute of a far slot', aTask(withSlotAt(far))],
    [undefined, 'a slot within a queue delay needs no place', aTask(withSlotAt(far - 1))],
    [
      'ready#resize#0',
      'taken in order, it stays ready: the slot of a lesser task may be spent on it',
      aTask({ ordering: 'priority', ...withSlotAt(far) }),
    ],
    [
      `minute#${minuteOf(far)}#`,
      'a deadline before the due time ends the task, so its minute counts',
      aTask({ dueAt: far + HOUR, deadlineAt: far }),
    ],
    [
      undefined,
      'a task over HTTP is in no ready place before it is due',
      aTask({ kind: 'http', dueAt: NOW + 1 }),
    ],
    [
      undefined,
      'a targeted task is found by its markers, not by those who may not take it',
      aTask({ kind: 'http', options: { workerIds: ['w1'] } }),
    ],
    [
      'running#resize#0',
      'while it runs it is where others are',
      aTask({ kind: 'http', options: { workerIds: ['w1', 'w2'], concurrency: 2 }, live: [aRun()] }),
    ],
    ['ready#resize#3', 'its place is that of its shard', aTask({ kind: 'http', shard: 3 })],
    [
      'ready#resize#0',
      'over HTTP with a free slot beside a run',
      aTask({ kind: 'http', ...two, live: [aRun()] }),
    ],
    ['running#resize#0', 'over HTTP with no free slot', aTask({ kind: 'http', live: [aRun()] })],
    [
      'running#resize#0',
      'over HTTP with a run, its free slot not due',
      aTask({ kind: 'http', ...two, live: [aRun()], dueAt: NOW + 1 }),
    ],
    [undefined, "a handler's run pays nothing before its first heartbeat", aTask({ live: [aRun()] })],
    ['running#resize#0', 'and stays while it runs', aTask({ live: [aRun()], place: runningPlaceAt })],
    [undefined, 'but leaves when it waits again', aTask({ place: runningPlaceAt })],
    [
      `minute#${minuteOf(far)}#`,
      'a free slot in the far future waits for its minute although another run goes on',
      aTask({ ...two, live: [aRun()], dueAt: far }),
    ],
    [
      'limit#resize=a',
      'who waits for a permit is out of the way',
      aTask({ kind: 'http', ...waitingFor('resize=a') }),
    ],
    ['limit#resize', 'with messages there is no line to stay in', aTask(waitingFor('resize'))],
    [
      'ready#resize#0',
      'in order, all wait for the limit for all',
      aTask({ kind: 'http', ...waitingFor('resize') }),
    ],
    ['ready#resize#0', 'at the turn of its tenant', aTask({ fairnessKey: 'a', ...waitingFor('resize') })],
    [
      'limit#resize',
      'a targeted task has no ready place to stay in',
      aTask({ kind: 'http', options: { workerIds: ['w1'] }, ...waitingFor('resize') }),
    ],
    [undefined, 'no slot is left to wait for', aTask({ live: [aRun()], dueAt: far })],
    [undefined, 'an ended task has none', aTask({ kind: 'http', state: 'failed', finishedAt: NOW })],
    [undefined, 'a tombstone has none', aTask({ kind: 'http', state: 'removed' })],
  ])('is %s: %s', (name, _why, task) => {
    if (name === undefined) expect(task).not.toHaveProperty('place')
    else expect(task.place?.name).toMatch(new RegExp(`^${name}`))
  })

  test('in one minute is spread over eight partitions', () => {
    const names = Array.from(
      { length: 400 },
      (_, i) => aTask({ key: `k${i}`, dueAt: NOW + HOUR }).place?.name,
    )

    expect(new Set(names)).toEqual(
      new Set(Array.from({ length: 8 }, (_, i) => `minute#${minuteOf(NOW + HOUR)}#${i}`)),
    )
  })

  test('follows from the task alone: doing it again changes nothing', () => {
    const task = aTask({ kind: 'http', ...two, live: [aRun()] })

    expect(withIndexEntries(task, NOW)).toEqual(task)
  })
})

describe('the view of a task', () => {
  test.each<[string, Task, Task['view']]>([
    ['open by due time', aTask({ dueAt: NOW + 9 }), { bucket: 'open', sort: NOW + 9 }],
    ['running is open', aTask({ live: [aRun()] }), { bucket: 'open', sort: NOW }],
    [
      'ended by its end',
      aTask({ state: 'failed', finishedAt: NOW + 7, ended: [anEndedRun()] }),
      { bucket: 'failed', sort: NOW + 7 },
    ],
    ['a tombstone has none', aTask({ state: 'removed' }), undefined],
  ])('is %s', (_name, task, view) => {
    expect(task.view).toEqual(view)
  })
})

test('a minute is the one that contains a time', () => {
  expect(minuteStart(minuteOf(NOW + 59_999))).toBe(NOW)
  expect(minuteStart(minuteOf(NOW + 60_000))).toBe(NOW + MINUTE)
})
