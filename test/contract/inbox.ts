import { expect, it } from 'vitest'
import type { Task } from '../../shared/core/task/task.ts'
import type { Clock } from '../../shared/ports/machine.ts'
import type { Inbox } from '../../shared/ports/messages.ts'
import { aTask } from '../support/tasks/a-task.ts'

/** An inbox under test, with a queue for the type `resize` and none for the type `nobody`. */
export type TriedInbox = { readonly inbox: Inbox; readonly clock: Clock; put(task: Task): Promise<void> }

/** The promises of every `Inbox`. */
export function inboxContract(create: () => Promise<TriedInbox>): void {
  it('delivers each dispatch once, at most as many as asked for', async () => {
    const { inbox, put } = await create()
    const keys = ['a', 'b', 'c', 'd']
    for (const key of keys) await put(aTask({ key }))

    const first = await inbox.receive('resize', { max: 3, waitMs: 0 })
    const second = await inbox.receive('resize', { max: 3, waitMs: 0 })
    const third = await inbox.receive('resize', { max: 3, waitMs: 0 })

    expect([first.length, second.length, third.length]).toEqual([3, 1, 0])
    expect([...first, ...second].map(({ task }) => task.key).sort()).toEqual(keys)
    expect(first[0]?.task).toEqual(aTask({ key: first[0]?.task.key ?? '' }))
  })

  it('waits for the next dispatch, and returns when it arrives', async () => {
    const { inbox, put, clock } = await create()
    const begunAt = clock.now()
    const waiting = inbox.receive('resize', { max: 10, waitMs: 20_000 })
    await clock.sleep(300)
    await put(aTask())

    const [delivery] = await waiting

    expect(delivery?.task.key).toBe('k1')
    expect(clock.now() - begunAt).toBeLessThan(20_000)
  })

  it('does not deliver a dispatch again that was removed', async () => {
    const { inbox, put } = await create()
    await put(aTask())
    const [delivery] = await inbox.receive('resize', { max: 1, waitMs: 0 })

    await delivery?.done()

    expect(await inbox.receive('resize', { max: 1, waitMs: 0 })).toEqual([])
  })

  it('delivers a dispatch again that was put back, after its delay', async () => {
    const { inbox, put } = await create()
    await put(aTask())
    const [delivery] = await inbox.receive('resize', { max: 1, waitMs: 0 })

    await delivery?.putBack(1)
    const atOnce = await inbox.receive('resize', { max: 1, waitMs: 0 })
    const later = await inbox.receive('resize', { max: 1, waitMs: 3_000 })
    await later[0]?.putBack(0)
    const again = await inbox.receive('resize', { max: 1, waitMs: 1_000 })

    expect(atOnce).toEqual([])
    expect([...later, ...again].map(({ task }) => task)).toEqual([aTask(), aTask()])
  })

  it('ends its wait when the signal aborts, and delivers later dispatches', async () => {
    const { inbox, put, clock } = await create()
    const aborting = new AbortController()
    const begunAt = clock.now()
    const waiting = inbox.receive('resize', { max: 1, waitMs: 10_000 }, aborting.signal)
    await clock.sleep(200)

    aborting.abort()
    const aborted = await waiting
    const tookMs = clock.now() - begunAt
    await clock.sleep(200)
    await put(aTask())
    const next = await inbox.receive('resize', { max: 1, waitMs: 1_000 })

    expect(aborted).toEqual([])
    expect(tookMs).toBeLessThan(1_000)
    expect(next).toHaveLength(1)
  })

  it('returns no delivery for a type without a queue', async () => {
    const { inbox } = await create()

    expect(await inbox.receive('nobody', { max: 1, waitMs: 0 })).toEqual([])
  })
}
