import { beforeEach, expect, it } from 'vitest'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { bodyRef } from '../../../shared/core/task/head-fields.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { aPublication, BORN, changeOf, DAY, LATER_BORN, NOW } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'
import { claimed, publish, written } from './guards.ts'

const LARGE = 'x'.repeat(1_000)
const nested = Array.from({ length: 100 }).reduce<Json>(
  (inner, _, depth) => (depth % 2 ? [inner] : { inner }),
  1,
)

/** The tests store each value in a head, and once more with padding, as an item of its own. */
const BODIES: ReadonlyArray<readonly [string, Json]> = [
  ['null', null],
  ['false', false],
  ['empty text', ''],
  ['an empty list', []],
  ['an empty object', {}],
  ['an empty key', { '': '' }],
  ['keys that objects inherit', JSON.parse('{"__proto__": 1, "constructor": {"__proto__": null}}')],
  ['the largest integers', [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER]],
  ['fractions', [0.1, 1e-300, 1.7976931348623157e308, 5e-324]],
  ['text beyond the basic plane', '𝄞 👩‍👩‍👧 e\u0301 é \u2028'],
  ['lone surrogates', ['\ud800', 'a\udc00b']],
  ['control characters', '\u0000\u001f\u007f"\\'],
  ['100 levels', nested],
  ['an object that looks like the reference to a body', { ref: 'in#1', bytes: 1, expires: 1 }],
]

const inputOf = (task: Task) => (task.input && 'inline' in task.input ? task.input.inline : undefined)
const refOf = (task: Task) => (task.input && 'ref' in task.input ? task.input.ref : '')

export function bodiesContract(makeStores: MakeStores): void {
  let tasks: Awaited<ReturnType<MakeStores>>['tasks']
  beforeEach(async () => {
    tasks = (await makeStores()).tasks
  })

  it.each(BODIES)('keeps %s exactly', async (_name, value) => {
    const padded = { value, padding: LARGE }

    const small = await publish(tasks, { key: 'small', input: value })
    const large = await publish(tasks, { key: 'large', input: padded })

    const isInline = small.input && 'inline' in small.input
    const read = isInline ? inputOf(small) : await tasks.body(small.id, refOf(small))
    expect(JSON.stringify(read)).toBe(JSON.stringify(value))
    expect(JSON.stringify(await tasks.body(large.id, refOf(large)))).toBe(JSON.stringify(padded))
  })

  it('keeps minus zero as zero, as JSON text does', async () => {
    const small = await publish(tasks, { key: 'small', input: -0 })
    const large = await publish(tasks, { key: 'large', input: [-0, LARGE] })

    expect(inputOf(small)).toBe(0)
    expect(await tasks.body(large.id, refOf(large))).toStrictEqual([0, LARGE])
  })

  it('keeps 350 KB under the longest id', async () => {
    const input = `ab${'\u{1f600}'.repeat((350 * 1024 - 4) / 4)}`
    const key = '\u{1f680}'.repeat(200)

    const task = await publish(tasks, { type: 't'.repeat(100), key, input })

    expect(task.input).toMatchObject({ bytes: 350 * 1024 })
    expect(await tasks.body(task.id, refOf(task))).toBe(input)
  })

  it('keeps no input when none was given, which differs from null', async () => {
    expect(await publish(tasks)).not.toHaveProperty('input')
  })

  it('writes the bodies of a change even if its head is refused then, and keeps the bodies of the stored task', async () => {
    const first = await publish(tasks, { input: `first${LARGE}` })
    const change = create(aPublication({ born: LATER_BORN, input: `second${LARGE}` }), undefined, NOW)

    const { applied } = await tasks.apply(change)

    expect(applied).toBe(false)
    expect(await tasks.body(first.id, refOf(first))).toBe(`first${LARGE}`)
    expect(await tasks.body(first.id, refOf(change.after))).toBe(`second${LARGE}`)
  })

  it('drops the bodies of a refused change', async () => {
    const first = await publish(tasks, { input: `first${LARGE}` })
    const change = create(aPublication({ born: LATER_BORN, input: `second${LARGE}` }), undefined, NOW)
    await tasks.apply(change)

    await tasks.dropBodies(first.id, change.bodies)

    expect(await tasks.body(first.id, refOf(change.after))).toBeUndefined()
    expect(await tasks.body(first.id, refOf(first))).toBe(`first${LARGE}`)
  })

  it('keeps the results of all successes', async () => {
    const seen = await publish(tasks, { options: { concurrency: 2 } })
    const both = await claimed(tasks, await claimed(tasks, seen, 'w1'), 'w2')
    const success = (task: Task, fence: number, result: Json) =>
      changeOf(finish(task, { born: BORN, fence, outcome: 'succeed', result }, NOW, 0))

    const one = await written(tasks, success(both, 1, LARGE))
    const done = await written(tasks, success(one, 2, 'small'))

    expect(await tasks.body(done.id, bodyRef.result(BORN, 1, LARGE))).toBe(LARGE)
    expect(done.ended).toMatchObject({ 1: { result: { bytes: 1_002 } }, 2: { result: { inline: 'small' } } })
  })

  it('renews a body, and does not create a missing one', async () => {
    const task = await publish(tasks, { input: LARGE })

    await tasks.renewBody(task.id, refOf(task), NOW + 400 * DAY)
    await tasks.renewBody(task.id, 'in#nothing', NOW + 400 * DAY)

    expect(await tasks.body(task.id, refOf(task))).toBe(LARGE)
    expect(await tasks.body(task.id, 'in#nothing')).toBeUndefined()
  })

  it('keeps no record of a run whose end was refused', async () => {
    const task = await claimed(tasks, await publish(tasks))
    await written(tasks, changeOf(cancel(task, NOW)))
    const error = { name: 'Zombie', message: 'too late' }

    const late = await tasks.apply(
      changeOf(finish(task, { born: BORN, fence: 1, outcome: 'fail', error }, NOW, 0)),
    )

    expect(late.applied).toBe(false)
    expect(await tasks.runRecords(task.id, BORN, 10)).toEqual([])
  })

  it('keeps causes and log of a failed run with its record, and neither in the head; a dropped record is gone', async () => {
    const task = await claimed(tasks, await publish(tasks))
    const error = { name: 'E', message: 'no', causes: [{ name: 'C', message: 'why' }] }
    const log = 'first \u{1F600}\nlast "line"'

    const after = await written(
      tasks,
      changeOf(finish(task, { born: BORN, fence: 1, outcome: 'fail', error, log }, NOW, 0)),
    )

    expect(await tasks.runRecords(task.id, BORN, 10)).toMatchObject([
      { fence: 1, state: 'failed', error, log },
    ])
    expect(after.ended[1]).toEqual(expect.not.objectContaining({ log }))
    expect([after.ended[1]?.error, after.error]).toEqual([
      { name: 'E', message: 'no' },
      { name: 'E', message: 'no' },
    ])
    await tasks.dropBodies(task.id, [{ ref: bodyRef.run(BORN, 1) }])
    expect(await tasks.runRecords(task.id, BORN, 10)).toEqual([])
  })

  it('lists the ended runs from a birth on, newest first, up to a limit', async () => {
    let task = await publish(tasks, { options: { retry: { maxRetries: 20, delayMs: 0 } } })
    for (let fence = 1; fence <= 11; fence++) {
      task = await claimed(tasks, task)
      const error = { name: 'E', message: `no ${fence}`, stack: `at ${LARGE}` }
      task = await written(
        tasks,
        changeOf(finish(task, { born: BORN, fence, outcome: 'fail', error }, NOW, 0)),
      )
    }

    const records = await tasks.runRecords(task.id, BORN, 10)

    expect(records.map(({ fence }) => fence)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
    expect(records[0]).toEqual({
      born: BORN,
      fence: 11,
      workerId: 'w1',
      state: 'failed',
      startedAt: NOW,
      endedAt: NOW,
      error: { name: 'E', message: 'no 11', stack: `at ${LARGE}` },
      reportDigest: expect.any(String),
    })
    expect(await tasks.runRecords(task.id, BORN, 0)).toEqual([])
    expect(await tasks.runRecords(task.id, LATER_BORN, 10)).toEqual([])
    expect(Object.keys(task.ended)).toHaveLength(5)
  })
}
