import { beforeEach, expect, it } from 'vitest'
import type { LoadedCanvas } from '../../../shared/runtime/canvas/canvas.ts'
import { startPurge, sweepPurges } from '../../../shared/runtime/jobs/sweep-purges.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import {
  aCanvasWorld,
  add,
  member,
  multiply,
  plan,
  published,
  run,
  shown,
} from '../../support/worlds/a-canvas-world.ts'
import { type MemorySystem, servedJobs } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
let canvas: LoadedCanvas
beforeEach(async () => {
  system = await aCanvasWorld()
  canvas = await published(system, { chord: { group: [add(1, 2), add(3, 4)], then: multiply() } })
  await plan(system, await run(system, canvas, 0), await run(system, canvas, 1))
  await system.clock.advance(SECOND)
})

async function purged(): Promise<void> {
  const askedAt = system.clock.now()
  await startPurge(system, 'add', { statuses: ['succeeded'], before: askedAt, askedAt })
  await servedJobs(system)
}

/** Lets the sweeper make as many rounds as fit into some minutes. */
async function sweptFor(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await system.clock.advance(MINUTE)
    await sweepPurges(system, await system.types.list())
    await servedJobs(system)
  }
}

const left = async () => {
  const heads = await Promise.all([0, 1].map(leaf => member(system, canvas, leaf)))
  return heads.filter(head => head?.state === 'succeeded').length
}
const purges = async () => (await system.types.get('add'))?.purges

it('a purge leaves the results that the callback of a running chord is still to get', async () => {
  await purged()

  await plan(system, await run(system, canvas, 2))

  expect(await shown(system, canvas)).toMatchObject({ status: 'succeeded', result: 21 })
})

it('a purge that left members in place for their canvas removes them once it has ended', async () => {
  await purged()
  await sweptFor(15)
  const whileOpen = [await left(), (await purges())?.length]
  await plan(system, await run(system, canvas, 2))

  await sweptFor(25)

  expect([whileOpen, await left(), await purges()]).toEqual([[2, 1], 0, undefined])
})

it('a purge of ended canvases’ members leaves none of them, in its first pass', async () => {
  await plan(system, await run(system, canvas, 2))

  await purged()

  expect(await left()).toBe(0)
})
