import { expect, it } from 'vitest'
import { WORKER_LIFE_MS, type Worker } from '../../shared/core/worker.ts'
import { NOW, SECOND } from '../support/a-task.ts'
import type { MakeStores } from './task-store.ts'

function aWorker(parts: Partial<Worker> = {}): Worker {
  return { workerId: 'w1', kind: 'http', types: ['resize'], startedAt: NOW, lastSeen: NOW, ...parts }
}

export function workersContract(makeStores: MakeStores): void {
  it('lists those that announced themselves, by id, with their last word', async () => {
    const { workers } = await makeStores()
    const standalone = aWorker({ workerId: 'w2', kind: 'standalone', version: '1.2', running: 3 })

    await workers.announce(standalone)
    await workers.announce(aWorker())
    await workers.announce(aWorker({ types: ['resize', 'crop'] }))

    expect(await workers.list()).toEqual([aWorker({ types: ['resize', 'crop'] }), standalone])
  })

  it('forgets one that left, and one that was not seen for 30 s', async () => {
    const { workers, clock } = await makeStores()
    await workers.announce(aWorker({ workerId: 'leaves' }))
    await workers.announce(aWorker({ workerId: 'silent' }))
    await workers.announce(aWorker({ workerId: 'seen', lastSeen: NOW + SECOND }))

    await workers.leave('leaves')
    await workers.leave('never came')
    await clock.advance(WORKER_LIFE_MS)

    expect((await workers.list()).map(({ workerId }) => workerId)).toEqual(['seen'])
  })
}
