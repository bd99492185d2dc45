import { beforeEach, describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { aFlow, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, beforeWrites, registered, stored } from '../../support/worlds/memory-system.ts'
import { afterLostRun, servedDispatches } from '../../support/worlds/served-dispatches.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

type Parts = Parameters<typeof stored>[1]

/** Serves the tasks, as messages m0, m1 and so on. */
function served(
  system: MemorySystem,
  tasks: readonly Task[],
  serving?: Parameters<typeof servedDispatches>[2],
) {
  const received = tasks.map((task, index) => ({ messageId: `m${index}`, task }))
  return servedDispatches(system, received, serving)
}

function storedAll(system: MemorySystem, ...all: Parts[]): Promise<Task[]> {
  return Promise.all(all.map((parts, index) => stored(system, { key: `k${index}`, ...parts })))
}

async function statesOf(system: MemorySystem, tasks: readonly Task[]): Promise<unknown[]> {
  const heads = await Promise.all(tasks.map(({ id }) => readTask(system, id)))
  return heads.map(head => head?.state)
}

/** A handler that ends when the test lets it. */
const untilStopped = ({ signal }: TaskContext) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('a batch of dispatches', () => {
  it('runs concurrently, under the name of its invocation, and no message is delivered again', async () => {
    const tasks = await storedAll(system, {}, {}, {})
    let running = 0
    const most: number[] = []

    const again = await served(system, tasks, {
      run: async () => {
        most.push(++running)
        await system.clock.sleep(SECOND)
        running--
      },
    })

    expect(again).toEqual([])
    expect(Math.max(...most)).toBe(3)
    expect(await statesOf(system, tasks)).toEqual(['succeeded', 'succeeded', 'succeeded'])
    expect((await readTask(system, tasks[0]!.id))?.ended[1]?.workerId).toBe('lambda-1')
  })

  it('waits for a task that is less than a second and a half early, and is sent back when it is earlier', async () => {
    const tasks = await storedAll(system, { dueAt: NOW + 1_400 }, { dueAt: NOW + 20 * SECOND })
    const startedAt: number[] = []

    const again = await served(system, tasks, { run: () => startedAt.push(system.clock.now()) })

    expect(again).toEqual([])
    expect(startedAt).toEqual([NOW + 1_400])
    expect(system.messages.dispatches).toEqual([{ task: tasks[1], delaySeconds: 20, hops: 1 }])
  })

  it('runs a task whose last run was lost alone, and sends the rest back before it begins', async () => {
    const [first, second, third] = await storedAll(system, {}, {}, {})
    const begun: string[] = []
    let sentBackBefore = 0
    const suspects = [await afterLostRun(system, second!), await afterLostRun(system, third!)]

    const again = await served(system, [first!, ...suspects], {
      run: ({ key }) => {
        begun.push(key)
        sentBackBefore = system.messages.dispatches.length
      },
    })

    expect(again).toEqual([])
    expect(begun).toEqual(['k1'])
    expect(sentBackBefore).toBe(2)
    expect(system.messages.dispatches.map(({ task, delaySeconds }) => [task.key, delaySeconds])).toEqual([
      ['k0', 0],
      ['k2', 0],
    ])
  })

  it('sends one dispatch of each suspect back, however many came', async () => {
    const [first, second, third] = await storedAll(system, {}, {}, { options: { concurrency: 2 } })
    const [one, two] = [await afterLostRun(system, first!), await afterLostRun(system, second!)]
    const twice = await afterLostRun(system, third!)

    const again = await served(system, [one, two, one, two, twice, one, twice])

    expect(again).toEqual([])
    expect(system.messages.dispatches.map(({ task }) => task.key)).toEqual(['k1', 'k2', 'k2'])
  })

  it('is run whole when a flow has lost a run in an earlier step', async () => {
    const [first, second] = await storedAll(
      system,
      {},
      { flow: aFlow({ steps: [{ name: 'a' }, { name: 'b' }] }) },
    )
    const lost = await afterLostRun(system, second!)
    await served(system, [lost])
    const atNextStep = await readTask(system, lost.id)

    const again = await served(system, [first!, atNextStep!])

    expect(again).toEqual([])
    expect(await statesOf(system, [first!, lost])).toEqual(['succeeded', 'succeeded'])
  })
})

describe('a message is delivered again', () => {
  it.each([
    ['that could not be sent back to let a suspect run alone', {}, true, ['m2']],
    ['that came too early and could not be sent back', { dueAt: NOW + MINUTE }, false, ['m0', 'm2']],
  ])('%s', async (_name, parts, isBesideSuspect, expected) => {
    const [first, second, third] = await storedAll(system, parts, {}, parts)
    const between = isBesideSuspect ? await afterLostRun(system, second!) : second!
    const failures = [{ index: isBesideSuspect ? 1 : 0, reason: 'no answer', transient: true }]
    const on = { ...system, messages: { ...system.messages, dispatch: async () => failures } }

    const again = await served(system, [first!, between, third!], { on })

    expect(again).toEqual(expected)
    expect(await statesOf(system, [second!])).toEqual(['succeeded'])
  })

  it('whose claim could not be written, while the other dispatches of its batch are served', async () => {
    const tasks = await storedAll(system, {}, {})
    const on = beforeWrites(system, ({ key }) => {
      if (key === 'k0') throw new Error('no answer')
    })

    const again = await served(system, tasks, { on })

    expect(again).toEqual(['m0'])
    expect(await statesOf(system, tasks)).toEqual(['open', 'succeeded'])
  })

  it.each([
    ['is sent again in twenty seconds when the store does not answer', true, []],
    ['is delivered again by its queue when it cannot be sent, either', false, ['m0']],
  ])('whose claim met an outage %s', async (_name, isSendable, expected) => {
    const [task] = await storedAll(system, {})
    const outage = () => Promise.reject(new BatonError('unavailable', 'throttled'))
    const on: System = {
      ...system,
      tasks: { ...system.tasks, apply: outage },
      messages: isSendable ? system.messages : { ...system.messages, dispatch: outage },
    }

    const again = await served(system, [task!], { on })

    expect(again).toEqual(expected)
    expect(system.messages.dispatches.map(({ delaySeconds }) => delaySeconds)).toEqual(isSendable ? [20] : [])
  })
})

describe('an invocation whose process must end', () => {
  it('releases its runs, which costs no retry, and starts none of those that are early', async () => {
    const tasks = await storedAll(system, {}, {}, { dueAt: NOW + 1_400 })
    const ending = new AbortController()
    let begun = 0

    const run = (context: TaskContext) => {
      begun += 1
      if (begun === 2) ending.abort()
      return untilStopped(context)
    }
    const again = await served(system, tasks, { run, aborting: ending.signal })

    expect(again).toEqual([])
    expect(begun).toBe(2)
    for (const { id } of tasks)
      expect(await readTask(system, id)).toMatchObject({ state: 'open', failures: 0 })
    expect((await readTask(system, tasks[0]!.id))?.ended[1]).toMatchObject({ state: 'released' })
  })
})

describe('an invocation without time left', () => {
  it('ends its runs as timed out, which costs a retry, and their messages are not delivered again', async () => {
    const tasks = await storedAll(system, {}, {})

    const again = await served(system, tasks, { run: untilStopped, stopAt: NOW + 5 * SECOND })

    expect(again).toEqual([])
    for (const { id } of tasks) {
      const head = await readTask(system, id)
      expect(head).toMatchObject({ state: 'open', failures: 1, error: { name: 'TimedOut' } })
      expect(head?.ended[1]).toMatchObject({ state: 'failed', endedAt: NOW + 5 * SECOND })
    }
  })

  it('leaves no timer behind when all runs end earlier', async () => {
    await served(system, await storedAll(system, {}))

    expect(system.clock.sleepers()).toBe(0)
  })
})

it('a webhook run gets the settings of its type', async () => {
  const webhook = { url: 'https://example.com/hook' }
  await registered(system, {
    type: 'notify',
    configuration: { kind: 'webhook', defaults: {}, shards: 1, webhook },
  })
  const task = await stored(system, { type: 'notify', kind: 'webhook' })
  const seen: unknown[] = []

  await served(system, [task], { run: context => seen.push(context.webhook) })

  expect(seen).toEqual([webhook])
})
