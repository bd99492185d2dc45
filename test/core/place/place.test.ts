import { describe, expect, it } from 'vitest'
import { endWait, joinLine } from '../../../shared/core/limits/limits.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { turnOrder } from '../../../shared/core/place/claim-order.ts'
import {
  lineEntry,
  minuteOf,
  minuteStart,
  movedToTurn,
  withIndexEntries,
} from '../../../shared/core/place/place.ts'
import { create, update } from '../../../shared/core/publish.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import {
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

const far = NOW + 15 * MINUTE + 1
const two = { options: { concurrency: 2 } } as const
const waitingFor = (kind: 'slot' | 'permit', limit: string) => ({ wait: { kind, limit } }) as const
const runningPlaceAt = { name: 'running#resize#0', order: '0' }

describe('the place of a task', () => {
  it.each<[string | undefined, string, Task]>([
    [undefined, 'a due task of a handler has a message', aTask()],
    [undefined, 'a task due within a queue delay has a message', aTask({ dueAt: far - 1 })],
    [`minute#${minuteOf(far)}#`, 'a task due further ahead waits for its minute', aTask({ dueAt: far })],
    [
      `minute#${minuteOf(far)}#`,
      'a task over HTTP waits for its minute, too',
      aTask({ dueAt: far, kind: 'http' }),
    ],
    ['ready#resize#0', 'a due task over HTTP is found by its workers', aTask({ kind: 'http' })],
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
      'a targeted task is found by its markers, not in a place',
      aTask({ kind: 'http', options: { workerIds: ['w1'] } }),
    ],
    [
      'running#resize#0',
      'a targeted task that runs is in the running place',
      aTask({ kind: 'http', options: { workerIds: ['w1', 'w2'], concurrency: 2 }, live: [aRun()] }),
    ],
    ['ready#resize#3', 'a task is in the partition of its shard', aTask({ kind: 'http', shard: 3 })],
    [
      'ready#resize#0',
      'a task over HTTP with a run wants another worker',
      aTask({ kind: 'http', ...two, live: [aRun()] }),
    ],
    [
      'running#resize#0',
      'a task over HTTP runs and wants no other worker',
      aTask({ kind: 'http', live: [aRun()] }),
    ],
    [
      'running#resize#0',
      'a task over HTTP runs and wants another worker only later',
      aTask({ kind: 'http', ...two, live: [aRun()], dueAt: NOW + 1 }),
    ],
    [undefined, 'the run of a handler needs no place before its first heartbeat', aTask({ live: [aRun()] })],
    [
      'running#resize#0',
      'a task of a handler stays in the running place while it runs',
      aTask({ live: [aRun()], place: runningPlaceAt }),
    ],
    [undefined, 'but leaves when it waits again', aTask({ place: runningPlaceAt })],
    [
      `minute#${minuteOf(far)}#`,
      'a running task that wants another worker only later waits for its minute',
      aTask({ ...two, live: [aRun()], dueAt: far }),
    ],
    [
      'limit#resize=a#permit#0',
      'a task that waits for a permit is in the line of its limit',
      aTask({ kind: 'http', ...waitingFor('permit', 'resize=a') }),
    ],
    [
      'limit#resize#slot#3',
      'a task that waits for a slot is in its shard of the line',
      aTask({ shard: 3, ...waitingFor('slot', 'resize') }),
    ],
    [
      'limit#resize#permit#0',
      'a targeted task waits in line, too',
      aTask({ kind: 'http', options: { workerIds: ['w1'] }, ...waitingFor('permit', 'resize') }),
    ],
    [undefined, 'no slot is left to wait for', aTask({ live: [aRun()], dueAt: far })],
    [undefined, 'an ended task has none', aTask({ kind: 'http', state: 'failed', finishedAt: NOW })],
    [undefined, 'a tombstone has none', aTask({ kind: 'http', state: 'removed' })],
  ])('is %s: %s', (name, _why, task) => {
    if (name === undefined) expect(task).not.toHaveProperty('place')
    else expect(task.place?.name).toMatch(new RegExp(`^${name}`))
  })

  it('is one of eight partitions for tasks of one minute', () => {
    const names = Array.from(
      { length: 400 },
      (_, i) => aTask({ key: `k${i}`, dueAt: NOW + HOUR }).place?.name,
    )

    expect(new Set(names)).toEqual(
      new Set(Array.from({ length: 8 }, (_, i) => `minute#${minuteOf(NOW + HOUR)}#${i}`)),
    )
  })

  it('follows from the task alone: computing it again changes nothing', () => {
    const task = aTask({ kind: 'http', ...two, live: [aRun()] })

    expect(withIndexEntries(task, NOW)).toEqual(task)
  })
})

describe('the view of a task', () => {
  it.each<[string, Task, Task['view']]>([
    ['open by due time', aTask({ dueAt: NOW + 9 }), { bucket: 'open', sort: NOW + 9 }],
    ['running is open', aTask({ live: [aRun()] }), { bucket: 'open', sort: NOW }],
    [
      'at its deadline if that comes before the due time',
      aTask({ dueAt: far, deadlineAt: NOW + 9 }),
      { bucket: 'open', sort: NOW + 9 },
    ],
    [
      'at the start of its first live run if it is due again later',
      aTask({ ...two, live: [aRun({ startedAt: NOW - 5 })], dueAt: far }),
      { bucket: 'open', sort: NOW - 5 },
    ],
    [
      'at its due time while a retry runs, so that a claim moves nothing',
      aTask({ live: [aRun({ startedAt: NOW + 5 })], startedAt: NOW - 9 }),
      { bucket: 'open', sort: NOW },
    ],
    [
      'at its end if it owes callbacks and was due later',
      aTask({ state: 'failed', owes: true, finishedAt: NOW + 7, dueAt: far }),
      { bucket: 'open', sort: NOW + 7 },
    ],
    [
      'where it was if it owes callbacks and was due',
      aTask({ state: 'failed', owes: true, finishedAt: NOW + 7 }),
      { bucket: 'open', sort: NOW },
    ],
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

it('minuteOf finds the minute that contains a time', () => {
  expect(minuteStart(minuteOf(NOW + 59_999))).toBe(NOW)
  expect(minuteStart(minuteOf(NOW + 60_000))).toBe(NOW + MINUTE)
})

const FAIR = { kind: 'http', ordering: 'arrival', fairnessKey: 'a' } as const
const LINE = { type: 'resize' }
const standing = (name: string, parts: Partial<Task> = {}): Task =>
  aTask({ ...FAIR, ...parts, place: { name, order: turnOrder(LINE, 7) } } as never)
const WAITING = standing('ready#resize#0')
const BLOCKED = standing('limit#resize=x', { wait: { kind: 'permit', limit: 'resize=x' } })
const running = aTask({ ...FAIR, live: [aRun()] } as never)
const released = finish(running, { born: BORN, fence: 1, outcome: 'release' }, NOW + 1, 0)

describe('a task of a tenant', () => {
  it.each([
    ['is new and due', create(aPublication(FAIR), undefined, NOW), {}],
    ['is released', changeOf(released), {}],
    ['returns from the place of a limit', changeOf(endWait(BLOCKED, NOW)), { keptTurn: 7 }],
  ])('enters its line when it %s', (_when, change, more) => {
    expect(lineEntry(change.before, change.after)).toEqual({ line: LINE, tenant: 'a', ...more })
    expect(movedToTurn(change.after, LINE, 9).place).toEqual({
      name: 'ready#resize#0',
      order: turnOrder(LINE, 9),
    })
  })

  it.each([
    ['is not due', create(aPublication({ ...FAIR, dueAt: NOW + SECOND }), undefined, NOW)],
    ['is patched while it waits', changeOf(patch(WAITING, { tags: {} }, NOW))],
    ['is published anew while it waits', changeOf(update(WAITING, aPublication(FAIR), NOW))],
  ])('does not enter its line when it %s', (_when, change) => {
    expect(lineEntry(change.before, change.after)).toBeUndefined()
  })

  it('enters a line again when its priority or its tenant changes', () => {
    const byPriority = aTask({ kind: 'http', ordering: 'priority', fairnessKey: 'a' })
    const patched = changeOf(patch(byPriority, { priority: 3 }, NOW))
    const renamed = changeOf(update(WAITING, aPublication({ ...FAIR, fairnessKey: 'b' }), NOW))

    expect(lineEntry(patched.before, patched.after)).toEqual({
      line: { type: 'resize', priority: 3 },
      tenant: 'a',
    })
    expect(lineEntry(renamed.before, renamed.after)).toEqual({ line: LINE, tenant: 'b' })
  })

  it('keeps its turn in the place of a limit', () => {
    expect(changeOf(joinLine(WAITING, { kind: 'permit', limit: 'resize=x' }, NOW)).after.place).toEqual({
      name: 'limit#resize=x#permit#0',
      order: turnOrder(LINE, 7),
    })
  })
})
