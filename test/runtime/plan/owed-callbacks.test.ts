import { beforeEach, describe, expect, it } from 'vitest'
import { eventsOf } from '../../../shared/core/events/events.ts'
import { needsAttention } from '../../../shared/core/task/task.ts'
import { plan } from '../../../shared/core/wake.ts'
import { contentOf } from '../../../shared/runtime/claim/claimed-task.ts'
import { restartTask, retryCallbacks } from '../../../shared/runtime/operate/operate.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { putType } from '../../../shared/runtime/types/types.ts'
import { DAY, MINUTE } from '../../support/tasks/a-task.ts'
import { DONE } from '../../support/tasks/flow-life.ts'
import { aCallbackWorld, type CallbackWorld, MAIL } from '../../support/worlds/a-callback-world.ts'
import { beforeWrites, noAnswer, timed } from '../../support/worlds/memory-system.ts'

let world: CallbackWorld
beforeEach(async () => {
  world = await aCallbackWorld()
})

/** Sets the default options of the type `mail`. */
const put = async (defaults: object) => {
  const { system } = world
  const outcome = await timed(system, putType(system, 'mail', { kind: 'handler', defaults, shards: 1 }))
  expect(outcome.ok).toBe(true)
}
/** With these defaults a callback that lists two workers is impossible, because three would have to succeed. */
const IMPOSSIBLE = { concurrency: 3 }
const TARGETED = { ...MAIL, options: { workerIds: ['w1', 'w2'] }, input: [] }

/** An ended task that owes two callbacks: one that its type does not allow any more, and one that it allows. */
async function owing() {
  const onSuccess = [TARGETED, { ...MAIL, input: ['plain'] }]
  const ended = await world.ended(await world.published({ onSuccess }), { ...DONE, result: 5 })
  await put(IMPOSSIBLE)
  await world.planned(ended)
  return ended
}

const targeted = async () => (await world.waiting()).filter(({ options }) => options.workerIds.length > 0)

describe('a callback that later defaults of its type make impossible', () => {
  it('stays owed, its task says why and needs attention, and the others are published', async () => {
    await owing()

    const head = await world.head('work:k')
    expect(head).toMatchObject({ state: 'succeeded', owes: true, operation: 'owe' })
    expect(head.unpublished).toMatchObject({
      indices: [0],
      problems: [
        {
          path: 'onSuccess.0.workerIds',
          message: 'lists 2, but concurrency is 3; list at least 3 workers, or none',
        },
      ],
    })
    expect(needsAttention(head)).toBe(true)
    expect(await world.waiting()).toHaveLength(1)
  })

  it('is logged once, not both by the process that finds it and by the reader of the stream', async () => {
    await owing()
    await world.planned(await world.head('work:k'))

    expect(world.complaints).toEqual(['a callback cannot be published: the task needs attention'])
  })

  it('is logged once, and its change in the stream causes no new try', async () => {
    await owing()
    const head = await world.head('work:k')
    const before = head.revision
    await world.planned(head)
    await world.planned(head)

    expect(plan(head, world.system.clock.now())).toEqual({})
    expect((await world.head('work:k')).revision).toBe(before)
    expect(eventsOf(head).map(({ type }) => type)).toEqual(['task.needs-attention'])
  })

  it('is published by the sweeper once its type allows it, and the other callbacks are not published twice', async () => {
    await owing()
    await world.system.clock.advance(MINUTE)
    await put({})
    await world.system.clock.advance(MINUTE)

    await sweep(world.system)

    const head = await world.head('work:k')
    expect(head.owes).toBeUndefined()
    expect(head.unpublished).toBeUndefined()
    expect(await world.waiting()).toHaveLength(2)
    const [child] = await targeted()
    expect(child && (await contentOf(world.system, child))).toEqual({ input: [5], previous: 5 })
  })

  it('is not tried again by the sweeper while no type changes, however long that takes', async () => {
    await owing()
    await world.system.clock.advance(MINUTE)
    // A type change within ten seconds of the judgement may be later than the judgement: the callback is tried once more.
    await sweep(world.system)
    const before = (await world.head('work:k')).revision

    for (let round = 0; round < 5; round++) {
      await sweep(world.system)
      await world.system.clock.advance(MINUTE)
    }

    expect((await world.head('work:k')).revision).toBe(before)
    expect(await world.head('work:k')).toMatchObject({ owes: true })
  })

  it('whose second try fails counts as failed in the sweeper’s report, and its repairs stay at 0', async () => {
    await owing()
    await put({})
    await world.system.clock.advance(MINUTE)
    const failing = beforeWrites(world.system, ({ type }) => type === 'mail' && noAnswer())

    expect(await sweep(failing)).toMatchObject({ repaired: 0, failed: 1 })
  })

  it('is kept beyond its task’s retention, and published when an operator asks for it', async () => {
    await owing()
    await world.system.clock.advance(60 * DAY)
    await put({})

    const outcome = await retryCallbacks(world.system, 'work:k')

    expect(outcome).toMatchObject({ ok: true })
    expect(await targeted()).toHaveLength(1)
  })

  it('keeps its task from being started over, which would forget it', async () => {
    await owing()

    expect(await retryCallbacks(world.system, 'work:k')).toMatchObject({ ok: false, reason: 'owes' })
    expect(await restartTask(world.system, 'work:k')).toMatchObject({ ok: false, reason: 'owes' })
    expect(await world.head('work:k')).toMatchObject({ owes: true, unpublished: { indices: [0] } })
  })

  it('has the key of its end, so that it is published once, whichever process is first', async () => {
    const ended = await owing()
    await put({})
    await retryCallbacks(world.system, 'work:k')

    expect((await world.waiting()).map(({ key }) => key).sort()).toEqual(
      [0, 1].map(nth => `${ended.born}.${ended.revision}.s${nth}`),
    )
  })
})
