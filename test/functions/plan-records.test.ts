import type { DynamoDBRecord } from 'aws-lambda'
import { describe, expect, it } from 'vitest'
import { createRecordPlanner } from '../../functions/plan-records.ts'
import type { Item } from '../../shared/aws/dynamo/documents.ts'
import { createHeadReader } from '../../shared/aws/dynamo/head/head-reader.ts'
import { headItem } from '../../shared/aws/dynamo/head/items.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import type { PlanningSystem } from '../../shared/runtime/kernel/system.ts'
import { createEventPublisher } from '../../shared/runtime/stream/events.ts'
import { createActivityMeter } from '../../shared/runtime/stream/statistics.ts'
import { imageOf } from '../../shared/testing/table/values.ts'
import { createMemoryEvents, createMemoryLateEventQueue } from '../support/ports/events.ts'
import { aTask } from '../support/tasks/a-task.ts'
import { aMemorySystem, registered } from '../support/worlds/memory-system.ts'

/** Lambda tries a batch again for hours. A test fails after this many invocations. */
const INVOCATIONS_MAX = 40

/** A planner on a system in memory, and the event source mapping that invokes it. `parts` replaces parts of the system. */
function aPlanner(parts: Partial<PlanningSystem> = {}) {
  const memory = aMemorySystem()
  const errors: object[] = []
  const log = {
    ...memory.log,
    error: (message: string, fields: object = {}) => errors.push({ message, ...fields }),
  }
  const system = { ...memory, log, ...parts }
  const events = createMemoryEvents()
  const documents = { get: () => Promise.reject(new BatonError('unavailable', 'no answer')) }
  const plan = createRecordPlanner({
    system,
    heads: createHeadReader(documents as never, 'table'),
    publishEvents: createEventPublisher({
      ...system,
      events,
      lateEventQueue: createMemoryLateEventQueue(),
      scope: 'types',
    }),
    activity: createActivityMeter(system),
    flushMetrics: () => {},
  })
  return {
    system,
    errors,
    published: events.published,
    dispatched: () => memory.messages.dispatches.map(({ task }) => task.key),
    deliver: (items: readonly Item[]) => deliver(plan, items.map(recordOf)),
  }
}

const keysOf = ({ pk, sk }: Item) => ({ pk, sk })

function recordOf(item: Item, index: number): DynamoDBRecord {
  return {
    eventName: 'MODIFY',
    dynamodb: {
      Keys: imageOf(keysOf(item)) as never,
      NewImage: imageOf(item) as never,
      SequenceNumber: `p${index}`,
    },
  }
}

/**
 * Invokes the planner as the mapping of its stream does: a batch that fails as a whole is divided, and one that fails in part is delivered
 * again from the first failed record on. Returns the number of invocations.
 */
async function deliver(
  plan: ReturnType<typeof createRecordPlanner>,
  records: readonly DynamoDBRecord[],
): Promise<number> {
  const queue = [records]
  let invocations = 0
  for (let batch = queue.shift(); batch; batch = queue.shift()) {
    invocations += 1
    if (invocations > INVOCATIONS_MAX) throw new Error(`${batch.length} records block their shard`)
    const left = await failedOf(plan, batch)
    const middle = Math.ceil(left.length / 2)
    const isDivided = left.length === batch.length && left.length > 1
    const parts = isDivided ? [left.slice(0, middle), left.slice(middle)] : [left]
    queue.unshift(...parts.filter(part => part.length > 0))
  }
  return invocations
}

async function failedOf(plan: ReturnType<typeof createRecordPlanner>, batch: readonly DynamoDBRecord[]) {
  try {
    const { batchItemFailures } = await plan({ Records: [...batch] })
    const failed = batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
    const first = batch.findIndex(({ dynamodb }) => failed.includes(dynamodb?.SequenceNumber ?? ''))
    return first < 0 ? [] : batch.slice(first)
  } catch {
    return batch
  }
}

const head = (key: string, more: Item = {}) => ({ ...headItem(aTask({ key })), ...more })

describe('a record that cannot be digested does not block its shard, loses no other record, and leaves a trace:', () => {
  it.each<[string, Item]>([
    ['a head with an attribute of another form', head('poison', { born: 7 })],
    ['a head of a schema that is newer than the code', head('poison', { v: 99 })],
    ['a head whose key is not the id of a task', head('poison', { pk: 'nonsense' })],
    ['a head with a run that is none', head('poison', { live: { 1: 'running' } })],
  ])('%s', async (_what, poison) => {
    const { deliver, dispatched, errors, system } = aPlanner()

    expect(await deliver([head('a'), poison, head('b')])).toBe(1)

    expect(dispatched()).toEqual(['a', 'b'])
    const skipped = { message: 'skipped a record of the stream that cannot be processed' }
    expect(errors).toContainEqual(expect.objectContaining({ ...skipped, keys: imageOf(keysOf(poison)) }))
    expect(system.counted('TaskFault')).toBe(1)
  })

  it('a task that the code fails to plan', async () => {
    const memory = aMemorySystem()
    const dispatch: typeof memory.messages.dispatch = async dispatches => {
      if (dispatches.some(({ task }) => task.key === 'poison')) throw new TypeError('a mistake of the code')
      return memory.messages.dispatch(dispatches)
    }
    const { deliver, errors, system } = aPlanner({ messages: { ...memory.messages, dispatch } })

    expect(await deliver([head('a'), head('poison'), head('b')])).toBe(1)

    expect(memory.messages.dispatches.map(({ task }) => task.key)).toEqual(['a', 'b'])
    expect(errors).toContainEqual(expect.objectContaining({ id: 'resize:poison' }))
    expect(system.counted('TaskFault')).toBe(1)
  })

  it('a task of a type that cannot be read, which has no events', async () => {
    const memory = aMemorySystem()
    const get = async (type: string) => {
      if (type === 'crop') throw new BatonError('unreadable', 'its text is not JSON')
      return memory.types.get(type)
    }
    const { deliver, dispatched, errors, published, system } = aPlanner({ types: { ...memory.types, get } })
    await registered({ ...system, types: memory.types } as never, {
      configuration: { kind: 'handler', defaults: {}, events: true },
    })
    const poison = headItem(aTask({ type: 'crop', key: 'poison' }))

    expect(await deliver([head('a'), poison, head('b')])).toBe(1)

    expect(dispatched()).toEqual(['a', 'poison', 'b'])
    expect(new Set(published.map(({ taskId }) => taskId))).toEqual(new Set(['resize:a', 'resize:b']))
    expect(errors).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('skipped the events') }),
    )
  })

  it('a permit that is given back under a limit whose note cannot be read', async () => {
    const memory = aMemorySystem()
    const line = () => Promise.reject(new BatonError('unreadable', 'its text is not JSON'))
    const { deliver, dispatched } = aPlanner({ limits: { ...memory.limits, line } })
    const freed = { pk: 'permits#resize', sk: 'permits', v: 1, count: 0, freed: 1 }

    expect(await deliver([head('a'), freed, head('b')])).toBe(1)

    expect(dispatched()).toEqual(['a', 'b'])
  })

  it('a record at which the code fails in a place that does not isolate it', async () => {
    const memory = aMemorySystem()
    const lookAtLimits = (looks: readonly unknown[]) =>
      looks.length > 0 ? Promise.reject(new TypeError('a mistake of the code')) : Promise.resolve([])
    const messages = { ...memory.messages, lookAtLimits }
    const { deliver, errors, system } = aPlanner({ messages })
    const noted = { pk: 'starts#resize', sk: 'line#slot', v: 1, noted: 1 }

    await deliver([head('a'), noted, head('b')])

    expect(memory.messages.dispatches.map(({ task }) => task.key)).toEqual(expect.arrayContaining(['a', 'b']))
    expect(errors).toContainEqual(
      expect.objectContaining({
        message: 'skipped a record of the stream that cannot be processed',
        keys: { pk: { S: 'starts#resize' }, sk: { S: 'line#slot' } },
      }),
    )
    expect(system.counted('TaskFault')).toBe(1)
  })
})

it('an outage is no fault of a record: the batch is delivered again', async () => {
  const memory = aMemorySystem()
  let outages = 3
  const dispatch: typeof memory.messages.dispatch = async dispatches => {
    if (outages-- > 0) throw new BatonError('unavailable', 'no answer')
    return memory.messages.dispatch(dispatches)
  }
  const { deliver, errors } = aPlanner({ messages: { ...memory.messages, dispatch } })

  await deliver([head('a')])

  expect(memory.messages.dispatches.map(({ task }) => task.key)).toEqual(['a'])
  expect(errors).toEqual([])
})
