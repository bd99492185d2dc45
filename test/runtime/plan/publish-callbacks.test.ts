import { beforeEach, describe, expect, it } from 'vitest'
import { needsAttention, type Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { cancelTask, removeTask, restartTask } from '../../../shared/runtime/operate/operate.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { DAY, SECOND } from '../../support/tasks/a-task.ts'
import { DONE, failingFor } from '../../support/tasks/flow-life.ts'
import { aCallbackWorld, type CallbackWorld, MAIL, POSITION } from '../../support/worlds/a-callback-world.ts'
import { beforeWrites, noAnswer } from '../../support/worlds/memory-system.ts'

let world: CallbackWorld
beforeEach(async () => {
  world = await aCallbackWorld()
})

describe('the end of a task', () => {
  it('publishes its callbacks once, and owes nothing then', async () => {
    const task = await world.published({
      onSuccess: [MAIL, { ...MAIL, key: 'own' }],
      onError: [{ type: 'work' }],
    })
    const over = await world.ended(task)
    expect(over).toMatchObject({ state: 'succeeded', owes: true, view: { bucket: 'open' } })

    await world.planned(over)

    const [first, second] = (await world.waiting()).sort((a, b) => a.key.localeCompare(b.key))
    expect(first?.key).toMatch(`${task.born}.`)
    expect(second?.key).toBe('own')
    expect(await world.waiting('work')).toEqual([])
    expect(await world.head(task.id)).toMatchObject({ operation: 'settle', view: { bucket: 'succeeded' } })
    expect((await world.head(task.id)).owes).toBeUndefined()
  })

  it('publishes its onError callbacks after a failure, once its retries are used up', async () => {
    const options = { retry: { maxRetries: 1, delayMs: 0 } }
    const task = await world.published({ options, onSuccess: [MAIL], onError: [MAIL, MAIL, MAIL] })

    const once = await world.ended(task, failingFor('no', false))
    await world.planned(once)
    const before = await world.waiting()
    await world.planned(await world.ended(once, failingFor('no', false)))

    expect(before).toEqual([])
    expect(await world.waiting()).toHaveLength(3)
  })

  it.each([
    ['has no callback for its success', { onError: [MAIL] }, DONE],
    ['has no callback for its failure', { onSuccess: [MAIL] }, failingFor('no')],
  ])('owes nothing when it %s', async (_name, request, outcome) => {
    const over = await world.ended(await world.published(request), outcome)

    expect(over.owes).toBeUndefined()
    expect(await world.planned(over)).toEqual([])
    expect((await world.head(over.id)).revision).toBe(over.revision)
  })

  it.each([
    ['cancelled', cancelTask],
    ['removed', removeTask],
  ])('owes nothing when it is %s', async (_name, operate) => {
    const task = await world.published({ onSuccess: [MAIL], onError: [MAIL] })

    await operate(world.system, task.id)
    await world.planned(await world.head(task.id))

    expect((await world.head(task.id)).owes).toBeUndefined()
    expect(await world.waiting()).toEqual([])
  })
})

describe('a callback that is published twice exists once', () => {
  it.each([
    ['was removed', async (child: Task) => void (await removeTask(world.system, child.id))],
    [
      'has expired',
      async (child: Task) => {
        await world.ended(child)
        await world.system.clock.advance(60 * DAY)
      },
    ],
    ['is still there', async () => {}],
  ])('when the stream is read again though the callback %s', async (_name, meanwhile) => {
    const over = await world.ended(
      await world.published({ onSuccess: [MAIL], options: { retentionMs: 90 * DAY } }),
    )
    await world.planned(over)
    const [child] = await world.waiting()
    await meanwhile(child as Task)
    const left = await world.waiting()

    expect(await world.planned(over)).toEqual([])

    expect(await world.waiting()).toEqual(left)
  })

  /** A system whose planner dies between publishing and recording that. */
  const dying = () => beforeWrites(world.system, ({ operation }) => operation === 'settle' && noAnswer())

  it('even if it was removed between the two publishes', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL] }))
    await world.planned(over, dying())
    const [mail] = await world.waiting()
    await removeTask(world.system, mail?.id ?? '')

    await world.planned(over)

    expect(await world.waiting()).toEqual([])
    expect((await world.head(over.id)).owes).toBeUndefined()
  })

  it('when the planner dies between publishing and recording that', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL, MAIL] }))

    expect(await world.planned(over, dying())).toEqual([POSITION])
    expect(await world.waiting()).toHaveLength(2)
    await world.planned(over)

    expect(await world.waiting()).toHaveLength(2)
    expect((await world.head(over.id)).owes).toBeUndefined()
  })

  it.each([
    ['has ended since', async (mail: Task) => void (await world.ended(mail))],
    ['was removed since', async (mail: Task) => void (await removeTask(world.system, mail.id))],
    [
      'was started over since',
      async (mail: Task) => {
        await world.ended(mail)
        await restartTask(world.system, mail.id)
      },
    ],
  ])(
    'with a key of its own and `restart`, when the planner dies and its task %s',
    async (_name, meanwhile) => {
      const own = { ...MAIL, key: 'own', ifExists: 'restart' as const }
      const earlier = await world.published(own)
      await world.ended(earlier)
      const over = await world.ended(await world.published({ onSuccess: [own] }))
      await world.planned(over, dying())
      const [mail] = await world.waiting()
      await meanwhile(mail as Task)
      const left = await world.waiting()

      await world.planned(over)

      expect(mail?.born).not.toBe(earlier.born)
      expect(await world.waiting()).toEqual(left)
      expect((await world.head(over.id)).owes).toBeUndefined()
    },
  )

  it('when a planner is late and the task has been resumed and has ended again', async () => {
    const over = await world.ended(await world.published({ onError: [MAIL] }), failingFor('no'))
    const again = { ...over, revision: over.revision + 1 }
    const guard = { kind: 'revision', born: over.born, revision: over.revision, leases: [] } as const
    const { head, apply } = world.system.tasks
    const late = {
      ...world.system,
      tasks: { ...world.system.tasks, head: async (id: string) => (id === over.id ? over : head(id)) },
    }
    await apply({ before: over, after: again, guard, bodies: [] })

    await world.planned(over, late)

    expect(await world.head(over.id)).toMatchObject({ revision: again.revision, owes: true })
    await world.planned(again)
    expect(await world.waiting()).toHaveLength(2)
  })

  it('when three planners publish at the same time', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL, MAIL] }))

    await Promise.all([world.planned(over), world.planned(over), world.planned(over)])

    expect(await world.waiting()).toHaveLength(2)
  })
})

describe('no owed callback is lost', () => {
  it('the sweeper publishes what no planner published', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL] }))
    await world.system.clock.advance(11 * SECOND)

    const report = await sweep(world.system)

    expect(report).toMatchObject({ repaired: 1, failed: 0 })
    expect(await world.waiting()).toHaveLength(1)
    expect((await world.head(over.id)).view?.bucket).toBe('succeeded')
  })

  it('Lambda delivers the change again when the store does not answer', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL] }))
    const types = {
      ...world.system.types,
      get: () => Promise.reject(new BatonError('unavailable', 'no answer')),
    }

    expect(await world.planned(over, { ...world.system, types })).toEqual([POSITION])
    await world.planned(over)

    expect(await world.waiting()).toHaveLength(1)
  })

  it('a task is started over only after its owed callbacks are published', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL] }))

    const byPublish = await publish(world.system, { type: 'work', key: 'k', ifExists: 'restart' })
    const byPerson = await restartTask(world.system, over.id)

    expect(byPublish).toMatchObject({ ok: false, reason: 'running' })
    expect(byPerson.ok).toBe(true)
    expect(await world.waiting()).toHaveLength(1)
    expect(await world.head(over.id)).toMatchObject({ state: 'open', callbacks: { onSuccess: 1 } })
  })

  it('a task that is started over publishes its callbacks again at its next end', async () => {
    const over = await world.ended(await world.published({ onSuccess: [MAIL] }))
    await restartTask(world.system, over.id)

    await world.planned(await world.ended(await world.head(over.id)))

    expect(await world.waiting()).toHaveLength(2)
  })

  it('a callback that the store refuses for good stays owed with the reason, and the others are published', async () => {
    const over = await world.ended(
      await world.published({
        onSuccess: [
          { ...MAIL, key: 'bad' },
          { type: 'work', key: 'good' },
        ],
      }),
    )
    const refusing = beforeWrites(world.system, ({ key }) => {
      if (key === 'bad') throw new BatonError('unstorable', 'the table refuses it')
    })

    expect(await world.planned(over, refusing)).toEqual([])

    const head = await world.head(over.id)
    const problems = [{ path: 'onSuccess.0', message: 'cannot be published: the table refuses it' }]
    expect(head).toMatchObject({ owes: true, unpublished: { indices: [0], problems } })
    expect(needsAttention(head)).toBe(true)
    expect((await world.waiting('work')).map(({ key }) => key)).toContain('good')
  })

  it('a callback that can never be published stays owed, and does not block the others', async () => {
    const over = await world.ended(
      await world.published({ onSuccess: [{ ...MAIL, options: { concurrency: 2 } }, { type: 'work' }] }),
    )
    const type = await world.system.types.get('mail')
    const steps = [{ name: 'a', do: { type: 'work' } }]
    if (type)
      await world.system.types.put(
        { ...type, version: 2, configuration: { kind: 'flow', defaults: {}, steps } },
        1,
      )

    expect(await world.planned(over)).toEqual([])

    expect((await world.waiting('work')).filter(({ state }) => state === 'open')).toHaveLength(1)
    expect(await world.head(over.id)).toMatchObject({ owes: true, unpublished: { indices: [0] } })
  })
})

it('a throttled publish is refused, and not lost, while the callbacks of the key cannot be published', async () => {
  const { system } = world
  const throttled = { type: 'work', key: 'k', throttle: { perMs: SECOND } }
  const callback = { ...MAIL, options: { concurrency: 2 } }
  const over = await world.ended(await world.published({ ...throttled, onSuccess: [callback] }))
  const mail = await system.types.get('mail')
  const flow = { kind: 'flow', defaults: {}, steps: [{ name: 'a', do: { type: 'work' } }] } as const
  if (mail) await system.types.put({ ...mail, version: 2, configuration: flow }, 1)
  await world.planned(over)
  await system.clock.advance(10 * SECOND)

  expect(await publish(system, throttled)).toMatchObject({ ok: false, reason: 'running' })
})
