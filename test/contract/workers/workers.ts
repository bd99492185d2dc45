import { expect, it } from 'vitest'
import { GONE_WORKER_KEPT_MS, WORKER_LIFE_MS, type Worker } from '../../../shared/core/worker.ts'
import { NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

function aWorker(parts: Partial<Worker> = {}): Worker {
  return { workerId: 'w1', kind: 'http', types: ['resize'], startedAt: NOW, lastSeen: NOW, ...parts }
}

export function workersContract(makeStores: MakeStores): void {
  it('lists announced workers by id, with their last announcement', async () => {
    const { workers } = await makeStores()
    const standalone = aWorker({ workerId: 'w2', kind: 'standalone', version: '1.2', running: 3 })

    await workers.announce(standalone)
    await workers.announce(aWorker())
    await workers.announce(aWorker({ types: ['resize', 'crop'] }))

    expect(await workers.list()).toEqual([aWorker({ types: ['resize', 'crop'] }), standalone])
    expect(await workers.get('w2')).toEqual(standalone)
    expect(await workers.get('w3')).toBeUndefined()
  })

  it('leaves out a worker that left, and one that was not seen for 30 s', async () => {
    const { workers, clock } = await makeStores()
    await workers.announce(aWorker({ workerId: 'leaves' }))
    await workers.announce(aWorker({ workerId: 'silent' }))
    await workers.announce(aWorker({ workerId: 'seen', lastSeen: NOW + SECOND }))

    await workers.leave(aWorker({ workerId: 'leaves', stoppedAt: NOW }))
    await workers.leave(aWorker({ workerId: 'never came' }))
    await clock.advance(WORKER_LIFE_MS)

    expect((await workers.list()).map(({ workerId }) => workerId)).toEqual(['seen'])
    expect(await workers.get('silent')).toBeUndefined()
    expect((await workers.listAll()).map(({ workerId }) => workerId)).toEqual(['leaves', 'seen', 'silent'])
  })

  it('shows a worker that was dropped for a day, unless one of its id is there again', async () => {
    const { workers, clock } = await makeStores()
    for (const workerId of ['gone', 'back']) await workers.announce(aWorker({ workerId }))
    await workers.dropSilent(NOW + 1, 10)
    await workers.announce(aWorker({ workerId: 'back', lastSeen: NOW + SECOND }))

    expect(await workers.listAll()).toEqual([
      aWorker({ workerId: 'back', lastSeen: NOW + SECOND }),
      aWorker({ workerId: 'gone' }),
    ])
    await clock.advance(GONE_WORKER_KEPT_MS)
    expect((await workers.listAll()).map(({ workerId }) => workerId)).toEqual(['back'])
  })

  it('keeps the younger of two standalone workers with one id, whatever the older one announces', async () => {
    const { workers } = await makeStores()
    const older = aWorker({ kind: 'standalone' })
    const younger = aWorker({ kind: 'standalone', startedAt: NOW + 1 })

    await workers.announce(older)
    await workers.announce(younger)
    await workers.announce({ ...older, lastSeen: NOW + SECOND })
    await workers.leave(older)

    expect(await workers.list()).toEqual([younger])
  })

  it('accepts a worker whose younger namesake is gone, and one that returns over HTTP', async () => {
    const { workers, clock } = await makeStores()
    const seenLater = { lastSeen: NOW + WORKER_LIFE_MS }
    const older = aWorker({ workerId: 'older', kind: 'standalone', ...seenLater })
    const http = aWorker({ workerId: 'http', ...seenLater })
    await workers.announce(aWorker({ workerId: 'older', kind: 'standalone', startedAt: NOW + 1 }))
    await workers.announce(aWorker({ workerId: 'http', startedAt: NOW + 1 }))

    await workers.announce(older)
    await workers.announce(http)
    await clock.advance(WORKER_LIFE_MS)

    expect(await workers.list()).toEqual([http, older])
  })

  it('removes at most `limit` workers that were not seen for a while, and returns their ids', async () => {
    const { workers, clock } = await makeStores()
    for (const workerId of ['a', 'b', 'c']) await workers.announce(aWorker({ workerId }))
    await workers.announce(aWorker({ workerId: 'seen', lastSeen: NOW + SECOND }))
    await clock.advance(SECOND)

    const first = await workers.dropSilent(NOW + SECOND, 2)
    const second = await workers.dropSilent(NOW + SECOND, 2)

    expect([first.length, second.length]).toEqual([2, 1])
    expect([...first, ...second].sort()).toEqual(['a', 'b', 'c'])
    expect((await workers.list()).map(({ workerId }) => workerId)).toEqual(['seen'])
    expect(await workers.dropSilent(NOW + SECOND, 2)).toEqual([])
  })
}
