import { beforeEach, describe, expect, it } from 'vitest'
import { createCanvas } from '../../../shared/core/canvas/canvas.ts'
import type { WorkerChange } from '../../../shared/core/events/events.ts'
import { remove } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import { WORKER_DROP_MS } from '../../../shared/core/worker.ts'
import type { LateEvents, SendFailure } from '../../../shared/ports/messages.ts'
import type { EventSystem, StreamChange } from '../../../shared/runtime/stream/events.ts'
import { createEventPublisher, publishLateEvents } from '../../../shared/runtime/stream/events.ts'
import { sweepWorkers } from '../../../shared/runtime/worker/worker.ts'
import { createMemoryEvents, createMemoryLateEventQueue } from '../../support/ports/events.ts'
import { afterOf, aTask, BORN, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { claimedBy, DONE, ended } from '../../support/tasks/flow-life.ts'
import { aMemorySystem, type MemorySystem, registered } from '../../support/worlds/memory-system.ts'

let world: World
beforeEach(() => {
  world = anEventWorld()
})

type World = MemorySystem & {
  readonly told: ReturnType<typeof createMemoryEvents>['published']
  readonly late: LateEvents[]
  readonly telling: EventSystem
  readonly complaints: string[]
  /** How often types were read. */
  typeReads(): number
  /** The outcomes of the next attempts to publish, or to postpone. */
  trouble: (events: number) => SendFailure[]
  lateTrouble: (messages: number) => SendFailure[]
}

function anEventWorld(scope: EventSystem['scope'] = 'types'): World {
  const system = aMemorySystem()
  const [events, lateEventQueue] = [createMemoryEvents(), createMemoryLateEventQueue()]
  const complaints: string[] = []
  let reads = 0
  const { types } = system
  const counted = { ...types, get: counting(types.get), list: counting(types.list) }
  function counting<Given extends unknown[], T>(read: (...given: Given) => T) {
    return (...given: Given) => {
      reads += 1
      return read(...given)
    }
  }
  const world: World = {
    ...system,
    told: events.published,
    late: lateEventQueue.late,
    complaints,
    typeReads: () => reads,
    trouble: () => [],
    lateTrouble: () => [],
    telling: {
      types: counted,
      clock: system.clock,
      scope,
      log: { ...system.log, error: message => complaints.push(message) },
      events: {
        publish: async given => {
          const failures = world.trouble(given.length)
          const failed = new Set(failures.map(({ index }) => index))
          await events.publish(given.filter((_event, index) => !failed.has(index)))
          return failures
        },
      },
      lateEventQueue: {
        put: async given => {
          const failures = world.lateTrouble(given.length)
          if (failures.length === 0) await lateEventQueue.put(given)
          return failures
        },
      },
    },
  }
  return world
}

const changes = (...tasks: Head[]): StreamChange[] =>
  tasks.map((task, index) => ({ task, position: `p${index}` }))
const all = (transient: boolean) => (count: number) =>
  Array.from({ length: count }, (_, index) => ({ index, reason: 'no', transient }))

const loud = { configuration: { kind: 'handler', defaults: {}, events: true } } as const
const joined: WorkerChange = { type: 'worker.joined', workerId: 'w1', at: NOW, position: 'p0' }
const canvas = createCanvas(
  { key: 'c', born: BORN, shard: 0, layout: {}, pages: [], leaves: 1 },
  undefined,
  NOW,
).after

describe('changes are published', () => {
  it('all of a batch in their order, for types that ask for events', async () => {
    await registered(world, loud)
    await registered(world, { type: 'crop' })
    const running = claimedBy(aTask())

    const again = await createEventPublisher(world.telling)(
      changes(aTask(), running, aTask({ type: 'crop' }), ended(running, DONE)),
    )

    expect(again).toEqual([])
    expect(world.told.map(({ type, taskId }) => `${type} ${taskId}`)).toEqual([
      'task.published resize:k1',
      'task.ready resize:k1',
      'task.running resize:k1',
      'task.succeeded resize:k1',
    ])
  })

  it('whatever their types say when all events are published; the types are not read then', async () => {
    const world = anEventWorld('all')

    await createEventPublisher(world.telling)([
      ...changes(aTask(), canvas),
      { worker: joined, position: 'p2' },
    ])

    expect(world.told.map(({ type }) => type)).toEqual([
      'task.published',
      'task.ready',
      'canvas.published',
      'worker.joined',
    ])
    expect(world.typeReads()).toBe(0)
  })

  it.each([
    ['with a type that asks', true],
    ['without one', false],
  ])('that belong to no type %s: %s', async (_name, events) => {
    await registered(world, { configuration: { ...loud.configuration, events } })

    await createEventPublisher(world.telling)([...changes(canvas), { worker: joined, position: 'p1' }])

    expect(world.told.map(({ type }) => type)).toEqual(events ? ['canvas.published', 'worker.joined'] : [])
  })
})

describe('a type', () => {
  it('is read once a second, and never for changes without events', async () => {
    await registered(world, loud)
    const publishEvents = createEventPublisher(world.telling)

    await publishEvents(
      changes(remove(aTask(), NOW).after, afterOf(patch(aTask({ dueAt: NOW - 1 }), { priority: 1 }, NOW))),
    )
    expect(world.typeReads()).toBe(0)
    await publishEvents(changes(aTask(), aTask({ key: 'k2' })))
    await publishEvents(changes(aTask({ key: 'k3' })))
    expect(world.typeReads()).toBe(1)
    await world.clock.advance(SECOND)
    await publishEvents(changes(aTask({ key: 'k4' })))
    expect(world.typeReads()).toBe(2)
  })

  it('that cannot be read makes Lambda deliver its changes again, and no others', async () => {
    await registered(world, loud)
    const get = async (type: string) => {
      if (type === 'crop') throw new Error('no answer')
      return world.types.get(type)
    }
    const publishEvents = createEventPublisher({ ...world.telling, types: { ...world.types, get } })

    const again = await publishEvents(
      changes(aTask(), aTask({ type: 'crop' }), aTask({ type: 'resize', key: 'k2' })),
    )

    expect(again).toEqual(['p1'])
    expect(world.told).toHaveLength(4)
  })

  it('that is not registered has no events published', async () => {
    expect(await createEventPublisher(world.telling)(changes(aTask({ type: 'gone' })))).toEqual([])
    expect(world.told).toEqual([])
  })
})

describe('an event that cannot be published', () => {
  it('is postponed, ten a message, and blocks nothing', async () => {
    const world = anEventWorld('all')
    world.trouble = all(true)
    const tasks = Array.from({ length: 12 }, (_, number) => aTask({ key: `k${number}` }))

    const again = await createEventPublisher(world.telling)(changes(...tasks))

    expect(again).toEqual([])
    expect(world.late.map(({ events, hops, delaySeconds }) => [events.length, hops, delaySeconds])).toEqual([
      [10, 0, 2],
      [10, 0, 2],
      [4, 0, 2],
    ])
    expect(world.late.flatMap(({ events }) => events).map(({ taskId }) => taskId)).toEqual(
      tasks.flatMap(({ id }) => [id, id]),
    )
  })

  it('does not postpone the events of its batch that were published', async () => {
    const world = anEventWorld('all')
    world.trouble = () => [{ index: 1, reason: 'throttled', transient: true }]

    await createEventPublisher(world.telling)(changes(aTask()))

    expect(world.told.map(({ type }) => type)).toEqual(['task.published'])
    expect(world.late.flatMap(({ events }) => events).map(({ type }) => type)).toEqual(['task.ready'])
  })

  it('stops all publishing for two seconds, since a bus that hangs would delay every batch', async () => {
    const world = anEventWorld('all')
    const publishEvents = createEventPublisher(world.telling)
    let tries = 0
    world.trouble = count => {
      tries += 1
      return tries === 1 ? all(true)(count) : []
    }

    await publishEvents(changes(aTask({ key: 'a' })))
    await world.clock.advance(SECOND)
    await publishEvents(changes(aTask({ key: 'b' })))
    await world.clock.advance(SECOND)
    await publishEvents(changes(aTask({ key: 'c' })))

    expect(tries).toBe(2)
    expect(world.late.flatMap(({ events }) => events).map(({ taskId }) => taskId)).toEqual([
      ...['resize:a', 'resize:a'],
      ...['resize:b', 'resize:b'],
    ])
    expect(new Set(world.told.map(({ taskId }) => taskId))).toEqual(new Set(['resize:c']))
  })

  it('is left to the next delivery of its change when it cannot be postponed either', async () => {
    const world = anEventWorld('all')
    world.trouble = all(true)
    world.lateTrouble = all(true)
    const silent = remove(aTask(), NOW).after

    const again = await createEventPublisher(world.telling)(
      changes(silent, aTask({ key: 'a' }), aTask({ key: 'b' })),
    )

    expect(again).toEqual(['p1', 'p2'])
    expect(world.complaints).toEqual(['events could not be postponed'])
  })

  it.each([
    ['by the bus', all(false), () => [], 'an event is refused'],
    ['by the queue to which it was postponed', all(true), all(false), 'events could not be postponed'],
  ])(
    'is dropped and logged as an error when it is refused %s',
    async (_name, trouble, lateTrouble, complaint) => {
      const world = anEventWorld('all')
      world.trouble = trouble
      world.lateTrouble = lateTrouble

      const again = await createEventPublisher(world.telling)(changes(aTask()))

      expect(again).toEqual([])
      expect(world.late).toEqual([])
      expect(world.complaints).toContain(complaint)
    },
  )
})

describe('late events', () => {
  const events = [{ id: 'e1', type: 'task.ready', at: NOW }] as const
  const late = (hops: number): LateEvents => ({ events, hops, delaySeconds: 0 })

  it('are published, and their message is done', async () => {
    expect(await publishLateEvents(world.telling, late(3))).toBe(true)
    expect(world.told).toEqual(events)
    expect(world.late).toEqual([])
  })

  it.each([
    [0, 4],
    [1, 8],
    [7, 512],
    [8, 900],
    [150, 900],
  ])('that fail again after %d waits are postponed for %d seconds', async (hops, delaySeconds) => {
    world.trouble = all(true)

    expect(await publishLateEvents(world.telling, late(hops))).toBe(true)
    expect(world.late).toEqual([{ events, hops: hops + 1, delaySeconds }])
  })

  it('are given up with an error in the log after two days', async () => {
    world.trouble = all(true)

    expect(await publishLateEvents(world.telling, late(200))).toBe(true)
    expect(world.late).toEqual([])
    expect(world.complaints).toEqual(['events were never published'])
  })

  it('stay in their message when they cannot be postponed again', async () => {
    world.trouble = all(true)
    world.lateTrouble = all(true)

    expect(await publishLateEvents(world.telling, late(0))).toBe(false)
  })
})

describe('workers that died without leaving', () => {
  const worker = { workerId: 'w1', kind: 'http', types: [], startedAt: NOW, lastSeen: NOW } as const

  it('are taken out when they have been silent for longer than a late sign of life can take', async () => {
    await world.workers.announce(worker)
    await world.clock.advance(WORKER_DROP_MS)

    expect(await sweepWorkers(world)).toMatchObject({ repaired: 0 })
    await world.clock.advance(1)
    expect(await sweepWorkers(world)).toMatchObject({ repaired: 1 })
    expect(await sweepWorkers(world)).toMatchObject({ repaired: 0 })
  })
})
