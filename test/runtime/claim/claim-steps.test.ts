import { describe, expect, it } from 'vitest'
import { ANSWER_BYTES_MAX } from '../../../shared/core/bounds.ts'
import type { Change } from '../../../shared/core/change.ts'
import { create } from '../../../shared/core/publish.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import { listWorkers } from '../../../shared/runtime/worker/worker.ts'
import { aFlow, aPublication, BORN, changeOf, MINUTE, NOW } from '../../support/tasks/a-task.ts'
import { DONE, failingFor } from '../../support/tasks/flow-life.ts'
import { aMemorySystem, type MemorySystem, registered } from '../../support/worlds/memory-system.ts'

const HTTP = { kind: 'http', ordering: 'priority', shards: 1 } as const
const FLOW = aFlow({
  steps: ['a', 'b'].map(name => ({ name, do: { ...HTTP, type: 'jobs' }, undo: { ...HTTP, type: 'jobs' } })),
})
const W1 = { workerId: 'w1' }

async function applied(system: MemorySystem, change: Change<Task>): Promise<Task> {
  await system.tasks.apply(change)
  return change.after
}

const publishedAs = (system: MemorySystem, key: string) =>
  applied(system, create(aPublication({ type: 'order', kind: 'flow', flow: FLOW, key }), undefined, NOW))

async function claimed(system: MemorySystem, task: Task): Promise<Task> {
  const answer = await claimTask(system, task, W1)
  if (!('run' in answer)) throw new Error(answer.refused)
  return answer.task
}

const word = { born: BORN, fence: 1 }

describe('a claim of the steps of flows', () => {
  it('hands out no more results of earlier steps than an answer can carry', async () => {
    const system = aMemorySystem()
    const type = await registered(system, {
      type: 'jobs',
      configuration: { kind: 'http', defaults: {}, shards: 1 },
    })
    const result = 'x'.repeat(340_000)
    for (let index = 0; index < 20; index++) {
      const task = await claimed(system, await publishedAs(system, `k${index}`))
      await applied(system, changeOf(finish(task, { ...word, ...DONE, result }, NOW, 0)))
    }

    const { claimed: claims } = await claimReady(system, [type], W1, { wanted: 100 })

    // Each result is shown twice: among the params, and as the input. Escaping may double both.
    expect(claims).toHaveLength(Math.floor(ANSWER_BYTES_MAX / (2 * 2 * 340_002)))
  })

  it('counts a step as late from the end of the one before it', async () => {
    const system = aMemorySystem()
    const first = await claimed(system, await publishedAs(system, 'k'))
    await system.clock.advance(10 * MINUTE)
    const next = await applied(system, changeOf(finish(first, { ...word, ...DONE }, system.clock.now(), 0)))
    await system.clock.advance(7)

    await claimed(system, next)

    expect(system.counted('Lateness')).toBe(7)
  })

  it('is refused when its dispatch names a step that is over', async () => {
    const system = aMemorySystem()
    const seen = await publishedAs(system, 'k')
    const first = await claimed(system, seen)
    await applied(system, changeOf(finish(first, { ...word, ...DONE }, NOW, 0)))

    expect(await claimTask(system, seen, { workerId: 'w2' })).toMatchObject({ refused: 'gone' })
  })

  it('shows the type of each run, also while the flow undoes its steps', async () => {
    const system = aMemorySystem()
    const configuration = { kind: 'flow', defaults: {}, shards: 1 } as const
    await registered(system, { type: 'order', configuration })
    await system.workers.announce({ ...W1, kind: 'http', types: ['jobs'], startedAt: NOW, lastSeen: NOW })
    await claimed(system, await publishedAs(system, 'doing'))
    const failing = await claimed(system, await publishedAs(system, 'undoing'))
    await claimed(
      system,
      await applied(system, changeOf(finish(failing, { ...word, ...failingFor('no') }, NOW, 0))),
    )

    expect(await listWorkers(system)).toContainEqual(expect.objectContaining({ id: 'w1', running: 2 }))
  })
})
