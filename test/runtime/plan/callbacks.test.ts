import { beforeEach, describe, expect, it } from 'vitest'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { contentOf } from '../../../shared/runtime/claim/claimed-task.ts'
import { resumeTask } from '../../../shared/runtime/operate/operate.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { DAY, MINUTE } from '../../support/tasks/a-task.ts'
import { DONE, failingFor } from '../../support/tasks/flow-life.ts'
import { aCallbackWorld, type CallbackWorld, MAIL } from '../../support/worlds/a-callback-world.ts'
import { registered } from '../../support/worlds/memory-system.ts'

let world: CallbackWorld
beforeEach(async () => {
  world = await aCallbackWorld()
})

/** The only callback of a task with this end, as the worker receives it. */
async function givenTo(
  request: Partial<PublishRequest>,
  callback: Partial<PublishRequest>,
  outcome: Outcome,
) {
  const all = [{ ...MAIL, ...callback }]
  await world.planned(
    await world.ended(await world.published({ onSuccess: all, onError: all, ...request }), outcome),
  )
  const [child] = await world.waiting()
  return child && { child, ...(await contentOf(world.system, child)) }
}

describe('a callback', () => {
  it('inherits user and trace, unless it has its own, and names its parent', async () => {
    const trace = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
    const task = await world.published({
      userId: 'ann',
      traceparent: trace,
      onSuccess: [MAIL, { ...MAIL, userId: 'bob' }],
    })
    await world.planned(await world.ended(task))

    const children = await world.waiting()

    expect(children.map(({ userId }) => userId).sort()).toEqual(['ann', 'bob'])
    for (const child of children) {
      expect(child.parentId).toBe(task.id)
      expect(child.traceparent?.slice(3, 35)).toBe('1'.repeat(32))
    }
  })

  it('may have callbacks, which are published at its own end', async () => {
    const nested = { ...MAIL, onSuccess: [{ type: 'work', key: 'last', onError: [MAIL] }] }
    await world.planned(await world.ended(await world.published({ onSuccess: [nested] })))
    const [child] = await world.waiting()
    expect(await world.system.tasks.head('work:last')).toBeUndefined()

    await world.planned(await world.ended(child as Task, { ...DONE, result: 5 }))

    expect(await world.head('work:last')).toMatchObject({
      parentId: child?.id,
      callbacks: { onSuccess: 0, onError: 1 },
    })
    expect(await contentOf(world.system, await world.head('work:last'))).toEqual({ previous: 5 })
  })

  it.each<[string, Json | undefined, Json | undefined]>([
    ['appended to an array', [1], [1, { ok: true }]],
    ['next to an object', { a: 1 }, { a: 1 }],
    ['next to nothing', undefined, undefined],
  ])('gets the result %s', async (_name, input, effective) => {
    const given = await givenTo({}, input === undefined ? {} : { input }, { ...DONE, result: { ok: true } })

    expect(given?.input).toEqual(effective)
    expect(given?.previous).toEqual({ ok: true })
  })

  it('gets nothing from a task without a result', async () => {
    const given = await givenTo({}, { input: [1] }, DONE)

    expect(given?.input).toEqual([1])
    expect(given).not.toHaveProperty('previous')
  })

  it('gets the error’s message first, and all of the error', async () => {
    const message = 'no '.repeat(300)
    const error = { name: 'TypeError', message, stack: 'at work' }

    const given = await givenTo({}, { input: ['to', 'ann'] }, { outcome: 'fail', error, fatal: true })

    expect((await world.head('work:k')).error?.message.length).toBeLessThan(200)
    expect(given?.input).toEqual([message, 'to', 'ann'])
    expect(given?.previous).toEqual({ error, taskId: 'work:k' })
  })

  it('gets nothing when it is immutable', async () => {
    const given = await givenTo({}, { input: [1], immutable: true }, { ...DONE, result: 2 })

    expect(given?.input).toEqual([1])
    expect(given?.child.previous).toBeUndefined()
  })

  it('reads a large result where it is kept', async () => {
    const result = 'x'.repeat(2_000)

    const given = await givenTo({}, { input: [] }, { ...DONE, result })

    expect(given?.child.previous).toMatchObject({ kind: 'result', taskId: 'work:k', bytes: 2_002 })
    expect(given?.input).toEqual([result])
  })

  it('that is due much later still finds it', async () => {
    const renewed: unknown[] = []
    world = await aCallbackWorld(tasks => ({
      ...tasks,
      renewBody: (...all) => {
        renewed.push(all)
        return tasks.renewBody(...all)
      },
    }))
    const far = world.system.clock.now() + 365 * DAY

    await givenTo({}, { dueAt: far }, { ...DONE, result: 'x'.repeat(2_000) })

    expect(renewed).toEqual([['work:k', expect.stringContaining('out#'), far + 37 * DAY]])
  })
})

describe('callbacks are checked against their types when the task is published', () => {
  it.each<[string, Partial<PublishRequest>, string]>([
    [
      'with impossible options',
      { onError: [{ ...MAIL, options: { heartbeatMs: 9_000, leaseMs: 5_000 } }] },
      'onError.0.heartbeatMs',
    ],
    ['of a flow, without an object', { onSuccess: [{ type: 'order', input: [1] }] }, 'onSuccess.0.input'],
    [
      'of a flow, with options of its steps',
      { onSuccess: [{ type: 'order', options: { concurrency: 2 } }] },
      'onSuccess.0.concurrency',
    ],
  ])('%s', async (_name, request, path) => {
    const configuration = { kind: 'flow', defaults: {}, steps: [{ name: 'a', do: MAIL }] } as const
    await registered(world.system, { type: 'order', configuration })

    const refused = await publish(world.system, { type: 'work', key: 'k', ...request })

    expect(refused).toMatchObject({ ok: false, reason: 'invalid', problems: [{ path }] })
    expect(await world.system.tasks.head('work:k')).toBeUndefined()
  })

  it.each<[string, Partial<PublishRequest>, string]>([
    ['itself', { onSuccess: [MAIL, { type: 'nobody' }] }, 'onSuccess.1.type'],
    ['nested', { onError: [{ ...MAIL, onSuccess: [{ type: 'nobody' }] }] }, 'onError.0.onSuccess.0.type'],
  ])('of no registered type, %s', async (_name, request, path) => {
    const refused = await publish(world.system, { type: 'work', key: 'k', ...request })

    const unknown = [{ type: 'nobody', path }]
    expect(refused).toMatchObject({ ok: false, reason: 'unknown-type', unknown, existing: ['mail', 'work'] })
    expect(await world.system.tasks.head('work:k')).toBeUndefined()
  })
})

describe('a flow', () => {
  const order = async (more: object = {}) => {
    const steps = [{ name: 'a', do: { type: 'work' }, undo: { type: 'work' } }]
    await registered(world.system, {
      type: 'order',
      configuration: { kind: 'flow', defaults: {}, steps, shards: 1 },
    })
    return world.published({ type: 'order', onSuccess: [MAIL], onError: [{ ...MAIL, input: [] }], ...more })
  }

  it('calls back with the result of its last step', async () => {
    await world.planned(await world.ended(await order(), { ...DONE, result: 'done' }))

    const [child] = await world.waiting()
    expect(child && (await contentOf(world.system, child)).previous).toBe('done')
  })

  it('calls back after its undo, with the error of its failed step', async () => {
    const undoing = await world.ended(await order(), failingFor('no'))
    await world.planned(undoing)
    expect(await world.waiting()).toEqual([])

    await world.planned(await world.ended(undoing))

    const [child] = await world.waiting()
    expect(child && (await contentOf(world.system, child)).input).toEqual(['no'])
  })

  it('calls back at each of its ends when it is resumed, though no run was between them', async () => {
    const halted = await world.ended(
      await world.ended(await order(), failingFor('no')),
      failingFor('bank closed'),
    )
    await world.planned(halted)
    await world.system.clock.advance(MINUTE)
    await resumeTask(world.system, halted.id, 'skip-undo')
    const again = await world.head(halted.id)
    expect(again).toMatchObject({ state: 'failed', owes: true })

    await world.planned(again)
    await world.planned(halted)

    expect(await world.waiting()).toHaveLength(2)
  })

  it('calls back for its failure although it is resumed before the planner runs, and then for its success', async () => {
    const halted = await world.ended(
      await world.ended(await order(), failingFor('no')),
      failingFor('bank closed'),
    )

    await resumeTask(world.system, halted.id, 'retry-do')
    await world.planned(await world.ended(await world.head(halted.id)))
    await world.planned(halted)

    const inputs = await Promise.all((await world.waiting()).map(child => contentOf(world.system, child)))
    expect(inputs.map(({ input }) => input)).toEqual(expect.arrayContaining([['no'], undefined]))
    expect(inputs).toHaveLength(2)
  })
})
