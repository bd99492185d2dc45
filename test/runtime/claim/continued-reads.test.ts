import { beforeEach, expect, it } from 'vitest'
import { claimByTickets } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { MINUTE } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'

const OLD = { workerId: 'w1', version: '1' }
const NEW = { workerId: 'w2', version: '2' }
const BEHIND = 3_000
const HTTP = { kind: 'http', ordering: 'priority' } as const

let system: MemorySystem
let read = 0
beforeEach(async () => {
  const memory = aMemorySystem()
  const heads: MemorySystem['tasks']['heads'] = ids => {
    read += ids.length
    return memory.tasks.heads(ids)
  }
  system = { ...memory, tasks: { ...memory.tasks, heads } }
  await registered(system, { configuration: { ...HTTP, defaults: {}, shards: 1 } })
  const options = { minWorkerVersion: '2' }
  for (let nth = 0; nth < BEHIND; nth++) {
    const dueAt = system.clock.now() - BEHIND + nth
    await stored(system, { ...HTTP, key: `new${nth}`, priority: 9, dueAt, options })
  }
})

async function claims(claimer: typeof OLD, wanted = 1): Promise<string[]> {
  const type = await system.types.get('resize')
  const { claimed } = type ? await claimReady(system, [type], claimer, { wanted }) : { claimed: [] }
  return claimed.map(({ task }) => task.key)
}

/** The keys that some calls of a worker claim, and the most heads that one of them read. */
async function calls(count: number, claim: () => Promise<readonly string[]>) {
  const keys: string[] = []
  let most = 0
  for (let nth = 0; nth < count; nth++) {
    read = 0
    keys.push(...(await claim()))
    most = Math.max(most, read)
  }
  return { keys, most }
}

it('thousands of tasks at the front that a worker may not take hide no task behind them, at a bounded cost of each call', async () => {
  await stored(system, { ...HTTP, key: 'any' })

  const { keys, most } = await calls(BEHIND / 750 + 1, () => claims(OLD))

  expect(keys).toEqual(['any'])
  expect(most).toBeLessThanOrEqual(1_010)
})

it('a ticket finds the task behind them, too, also where each invocation is a worker of its own', async () => {
  const type = await system.types.get('resize')
  await stored(system, { ...HTTP, key: 'any' })
  const named = await readTask(system, 'resize:new0')
  let nth = 0

  const { keys } = await calls(BEHIND / 750 + 1, async () => {
    const claimer = { workerId: `lambda-${nth++}`, version: '1' }
    const { claimed } = type && named ? await claimByTickets(system, type, claimer, [named]) : { claimed: [] }
    return claimed.map(({ task: { key } }) => key)
  })

  expect(keys).toContain('any')
})

it('the first tasks are looked at in each call, so a new one at the front does not wait', async () => {
  await calls(2, () => claims(OLD))
  await stored(system, { ...HTTP, key: 'urgent', priority: 100 })

  expect(await claims(OLD)).toEqual(['urgent'])
})

it('a worker that may take the first tasks takes them in their order, wherever another one reads', async () => {
  await calls(2, () => claims(OLD))

  expect(await claims(NEW, 3)).toEqual(['new0', 'new1', 'new2'])
})

it('a task before the position that becomes claimable is found within a minute, though the tail never runs dry', async () => {
  const hidden = { ...HTTP, key: 'hidden', priority: 9 }
  for (let nth = 0; nth < 50; nth++) await stored(system, { ...HTTP, key: `tail${nth}` })
  await calls(4, () => claims(OLD))
  await stored(system, { ...hidden, dueAt: system.clock.now() - BEHIND / 2 })

  const found: string[] = []
  for (let minute = 0; minute < 12; minute++) {
    await system.clock.advance(MINUTE / 4)
    found.push(...(await claims(OLD)))
  }

  expect(found).toContain('hidden')
}, 20_000)
