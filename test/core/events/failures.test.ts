import { describe, expect, it } from 'vitest'
import { failuresIn, hourOf, maskedError } from '../../../shared/core/events/failures.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { lose } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aTask, BORN, changeOf, HOUR, NOW, SECOND } from '../../support/tasks/a-task.ts'

describe('a masked error', () => {
  it.each([
    ['no answer within 3000 ms', 'no answer within # ms'],
    ['order-7 of 6f1a52f4-3a0e-4a5c-9d43-c6b1f0a7d2e1', '# of #'],
    ['cannot read "a b" and `c`', 'cannot read # and #'],
    ["shop 'Ünal 3' isn't known, and can't be", "shop # isn't known, and can't be"],
    ['at 0xdeadbeef1 and 01ARZ3NDEKTSV4RRFFQ69G5FAV', 'at # and #'],
    ['2026-01-01T12:00:00.000Z', '#:#:#.#'],
    ['two\n  lines', 'two lines'],
    ['ECONNREFUSED', 'ECONNREFUSED'],
  ])('of %j is %j', (message, masked) => {
    expect(maskedError({ name: 'Error', message })).toBe(`Error: ${masked}`)
  })

  it('fits a key, and ends in no half of a character', () => {
    const long = maskedError({ name: 'E', message: '𝄞'.repeat(500) })

    expect(long.length).toBeLessThanOrEqual(200)
    expect(long.isWellFormed()).toBe(true)
  })
})

describe('the failures of a change', () => {
  const running = () => changeOf(claim(aTask(), { workerId: 'w1' }, NOW)).after
  const at = NOW + SECOND
  const failed = (task: Task, error = { name: 'E', message: 'code 7' }) =>
    changeOf(finish(task, { born: BORN, fence: task.fence, outcome: 'fail', error }, at, 0)).after

  it('are its failed run, also before the reserved start of that run', () => {
    const reserved = changeOf(claim(aTask(), { workerId: 'w1' }, NOW, { startsAt: NOW + HOUR })).after

    expect(failuresIn(failed(reserved))).toMatchObject([{ error: 'E: code #', count: 1, firstAt: at }])
  })

  it('are its failed run, whether or not a retry follows', () => {
    const retried = failed(running())

    expect(retried.state).toBe('open')
    expect(failuresIn(retried)).toEqual([
      {
        type: retried.type,
        error: 'E: code #',
        hour: hourOf(at),
        count: 1,
        firstAt: at,
        lastAt: at,
        exampleId: retried.id,
      },
    ])
  })

  it('are its lost runs', () => {
    const lost = changeOf(lose(running(), NOW + HOUR)).after

    expect(failuresIn(lost)).toMatchObject([{ error: expect.stringContaining('LeaseLost'), count: 1 }])
  })

  it('are none for a claim, a success, a cancel, and a later change of a task that has failed before', () => {
    const task = running()
    const succeeded = changeOf(
      finish(task, { born: BORN, fence: task.fence, outcome: 'succeed' }, at, 0),
    ).after
    const again = changeOf(claim(failed(task), { workerId: 'w2' }, NOW + HOUR)).after

    for (const one of [task, succeeded, again, changeOf(cancel(task, at)).after])
      expect(failuresIn(one)).toEqual([])
  })
})
