import { beforeEach, describe, expect, it } from 'vitest'
import { cancelCanvas as cancelHead, driveAt } from '../../../shared/core/canvas/canvas.ts'
import { type Head, isCanvas, isTask } from '../../../shared/core/task/head.ts'
import type { Canvas } from '../../../shared/core/task/head-fields.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import { startLeaves } from '../../../shared/runtime/canvas/count-ends.ts'
import { cancelCanvas, driveCanvas } from '../../../shared/runtime/canvas/drive-canvas.ts'
import { readPrevious } from '../../../shared/runtime/canvas/read-previous.ts'
import { sweepCanvases } from '../../../shared/runtime/canvas/sweep-canvases.ts'
import { readHead, readTask, readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { removeTask, restartTask } from '../../../shared/runtime/operate/operate.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { serveWakes } from '../../../shared/runtime/wake.ts'
import { changeOf, MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import {
  aCanvasWorld,
  add,
  boom,
  member,
  plan,
  published,
  run,
  runAll,
  shown,
  startedLeaves,
  tell,
  type Written,
} from '../../support/worlds/a-canvas-world.ts'
import { beforeWrites, type MemorySystem, noAnswer, stored } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(async () => {
  system = await aCanvasWorld()
})

const NO_END = Number.POSITIVE_INFINITY

const chordOf = (count: number): Written => ({
  chord: { group: Array.from({ length: count }, (_, n) => add(n)), then: add() },
})

/** The system with a store that does not answer those writes of heads for which `fails` is true. */
function failing(system: MemorySystem, fails: (head: Head) => boolean): MemorySystem {
  return beforeWrites(system, head => fails(head) && noAnswer())
}

async function headOf(system: MemorySystem, id: string): Promise<Canvas> {
  const head = await readHead(system, id, isCanvas)
  if (!head) throw new Error(`no ${id}`)
  return head
}

function lookAt({ id, born }: { id: string; born: string }, from = 0) {
  return { id, born, from, delaySeconds: 0 }
}

describe('counting', () => {
  it('a head that names a canvas whose member it is not changes nothing, and reads no results of it', async () => {
    const canvas = await published(system, chordOf(2))
    const { canvasId, born } = canvas
    const previous = { kind: 'node', handOn: 'append', canvasId, born, node: 0 } as const
    const forged = await Promise.all(
      [0, 1].map(leaf =>
        stored(system, { type: 'tell', key: `forged-${leaf}`, member: { canvasId, born, leaf }, previous }),
      ),
    )

    await plan(system, ...forged.map(task => ({ ...task, state: 'succeeded' as const })))

    expect(await startedLeaves(system, canvas)).toEqual([0, 1])
    await runAll(system, canvas)
    for (const task of forged) expect(await readPrevious(system, task)).toBeUndefined()
    expect(await startedLeaves(system, canvas)).toEqual([0, 1, 2])
  })

  it('a batch that Lambda delivers twice starts the callback once', async () => {
    const canvas = await published(system, chordOf(2))
    const ended = [await run(system, canvas, 0), await run(system, canvas, 1)]

    await plan(system, ...ended)
    const first = await member(system, canvas, 2)
    await plan(system, ...ended)

    expect(first).toMatchObject({ state: 'open', revision: 1 })
    expect(await member(system, canvas, 2)).toEqual(first)
  })

  it('a batch that Lambda delivers again long after the end changes nothing', async () => {
    const canvas = await published(system, chordOf(2))
    const ended = [await run(system, canvas, 0), await run(system, canvas, 1)]
    await plan(system, ...ended)
    await runAll(system, canvas)
    const head = await headOf(system, canvas.id)

    await plan(system, ...ended)

    expect(head.state).toBe('succeeded')
    expect(await headOf(system, canvas.id)).toEqual(head)
  })

  it('continues when its process died between count and start and Lambda delivers the batch again', async () => {
    const canvas = await published(system, chordOf(2))
    const ended = [await run(system, canvas, 0), await run(system, canvas, 1)]

    const again = await plan(
      failing(system, head => isTask(head) && head.member?.leaf === 2),
      ...ended,
    )
    const before = await startedLeaves(system, canvas)
    await plan(system, ...ended)

    expect(again).toEqual(['0', '1'])
    expect(before).toEqual([0, 1])
    expect(await startedLeaves(system, canvas)).toEqual([0, 1, 2])
  })

  it('by two planners at once starts the callback once', async () => {
    const canvas = await published(system, chordOf(300))
    for (let leaf = 0; leaf < 298; leaf++) await plan(system, await run(system, canvas, leaf))
    const [one, other] = [await run(system, canvas, 298), await run(system, canvas, 299)]

    await Promise.all([plan(system, one), plan(system, other)])

    expect(await member(system, canvas, 300)).toMatchObject({ state: 'open', revision: 1 })
  })

  it('reads other chunks only once a chunk is complete', async () => {
    const canvas = await published(system, chordOf(600))
    let reads = 0
    const ends: typeof system.canvases.ends = (...args) => {
      reads += 1
      return system.canvases.ends(...args)
    }
    const counted = { ...system, canvases: { ...system.canvases, ends } }

    for (let leaf = 0; leaf < 600; leaf++) await plan(counted, await run(system, canvas, leaf))

    expect(reads).toBe(3)
    expect(await member(system, canvas, 600)).toBeDefined()
  })

  it('counts the first end of a member, although it was started over before it was counted', async () => {
    const canvas = await published(system, { group: [boom, add(1)] })
    const failed = await run(system, canvas, 0)

    await restartTask(system, failed.id)
    await plan(system, await member(system, canvas, 0), await run(system, canvas, 1))

    expect(await shown(system, canvas)).toMatchObject({ status: 'failed', items: [{ status: 'ready' }, {}] })
  })

  it('a member that was started over later does not reopen the canvas', async () => {
    const canvas = await published(system, { chain: [boom, add(1)] })
    await plan(system, await run(system, canvas, 0))

    await restartTask(system, (await headOf(system, canvas.id)) && `boom:${canvas.born}.0`)
    await plan(system, await member(system, canvas, 0))

    expect((await shown(system, canvas)).status).toBe('failed')
    expect(await startedLeaves(system, canvas)).toEqual([0])
  })

  it('counts a member that was removed after its success as a success', async () => {
    const canvas = await published(system, { group: [add(1), add(2)] })
    const ended = await run(system, canvas, 0)

    await removeTask(system, ended.id)
    await plan(system, await readTask(system, ended.id))
    await plan(system, ended, await run(system, canvas, 1))

    expect((await shown(system, canvas)).status).toBe('succeeded')
  })

  it('counts a member that was removed, though its key was published again before the planner read that', async () => {
    const canvas = await published(system, { group: [add(1), add(2)] })
    await plan(system, await run(system, canvas, 0))

    await removeTask(system, `add:${canvas.born}.1`)
    await publish(system, { type: 'add', key: `${canvas.born}.1`, input: [2] })
    await plan(system, await member(system, canvas, 1))

    expect((await shown(system, canvas)).status).toBe('failed')
  })
})

describe('a beginning', () => {
  it('that was left undone is finished by the jobs function, to which the planner sends a look', async () => {
    const canvas = await published(
      failing(system, head => isTask(head) && (head.member?.leaf ?? 0) > 1),
      { group: [add(0), add(1), add(2), add(3)] },
    )
    const before = await startedLeaves(system, canvas)

    await plan(system, await headOf(system, canvas.id))
    const [look] = system.messages.canvasLooks
    await system.clock.advance(20 * SECOND)
    if (look)
      await serveWakes(
        system,
        [{ messageId: 'm', wake: { kind: 'canvas', look } }],
        system.clock.now() + MINUTE,
      )

    expect(before).toEqual([0, 1])
    expect(look).toMatchObject({ id: canvas.id, delaySeconds: 20 })
    expect(await startedLeaves(system, canvas)).toEqual([0, 1, 2, 3])
    expect((await headOf(system, canvas.id)).canvas?.started).toBe(true)
  })

  it('that was finished is not looked at again', async () => {
    const canvas = await published(system, { group: [add(0)] })

    expect(driveAt(await headOf(system, canvas.id), system.clock.now())).toBeUndefined()
  })

  it('of many members is done by the jobs function, message by message', async () => {
    const canvas = await published(system, chordOf(1_500))
    await plan(system, await headOf(system, canvas.id))
    const [first] = system.messages.canvasLooks
    let reads = 0
    const slow = {
      ...system,
      tasks: {
        ...system.tasks,
        heads: (ids: readonly string[]) => {
          reads += 1
          return system.clock.advance(10 * SECOND).then(() => readTasks(system, ids))
        },
      },
    }

    for (let look = first; look; look = system.messages.canvasLooks.shift()) {
      if (look === first) system.messages.canvasLooks.shift()
      await driveCanvas(slow, look, system.clock.now() + 25 * SECOND)
    }

    expect(first).toMatchObject({ delaySeconds: 0 })
    expect(reads).toBe(15)
    expect(await startedLeaves(system, canvas)).toHaveLength(1_500)
    expect((await headOf(system, canvas.id)).canvas?.started).toBe(true)
  })

  it('of a birth that is gone does nothing', async () => {
    const canvas = await published(system, { group: [add(0)] })

    await driveCanvas(system, { ...lookAt(canvas), born: '01KDX3A0000000000000000009' }, system.clock.now())

    expect(await startedLeaves(system, canvas)).toEqual([0])
  })
})

describe('the sweeper', () => {
  it('counts an end that no stream brought', async () => {
    const canvas = await published(system, { chain: [add(1), add(2)] })
    await run(system, canvas, 0)

    await sweepCanvases(system, NO_END)
    await run(system, canvas, 1)
    await sweepCanvases(system, NO_END)

    expect(await shown(system, canvas)).toMatchObject({ status: 'succeeded', result: 3 })
  })

  it('publishes a member whose predecessor was counted but which was not started', async () => {
    const canvas = await published(system, { chain: [add(1), add(2)] })
    await plan(
      failing(system, head => isTask(head) && head.member?.leaf === 1),
      await run(system, canvas, 0),
    )

    await sweepCanvases(system, NO_END)

    expect(await startedLeaves(system, canvas)).toEqual([0, 1])
  })

  it('ends a canvas whose members have all been counted', async () => {
    const canvas = await published(system, { group: [boom] })
    await plan(failing(system, isCanvas), await run(system, canvas, 0))

    await sweepCanvases(system, NO_END)

    expect(await headOf(system, canvas.id)).toMatchObject({ state: 'failed', error: { name: 'Boom' } })
  })

  it('sends the lost message of a start again, and leaves a recent one alone', async () => {
    const canvas = await published(system, chordOf(1_100))

    await sweepCanvases(system, NO_END)
    const early = system.messages.canvasLooks.length
    await system.clock.advance(MINUTE)
    await sweepCanvases(system, NO_END)

    expect(early).toBe(0)
    expect(system.messages.canvasLooks).toEqual([lookAt(canvas)])
  })

  it('renews the stored parts of an open canvas for months', async () => {
    const canvas = await published(system, chordOf(3))
    const renewed: string[] = []
    const renewBody: TaskStore['renewBody'] = async (_id, ref) => void renewed.push(ref.split('#')[0] ?? '')

    await system.clock.advance(11 * 24 * 60 * MINUTE)
    await sweepCanvases({ ...system, tasks: { ...system.tasks, renewBody } }, NO_END)
    await sweepCanvases({ ...system, tasks: { ...system.tasks, renewBody } }, NO_END)

    expect(renewed).toEqual(['tree', 'leaves'])
    expect((await headOf(system, canvas.id)).state).toBe('open')
  })
})

describe('cancelling', () => {
  it('wins over a start that is under way', async () => {
    const canvas = await published(system, { chain: [add(1), add(2)] })
    await plan(system, await run(system, canvas, 0).then(() => undefined))
    const head = await headOf(system, canvas.id)

    await cancelCanvas(system, canvas.id)
    await startLeaves(system, canvas, head, [1])

    expect(await member(system, canvas, 1)).toMatchObject({ state: 'cancelled' })
  })

  it('leaves ended members as they are, and members that never start skipped', async () => {
    const canvas = await published(system, {
      group: [{ chain: [boom, add(1)] }, add(2), { chain: [add(3), add(4)] }],
    })
    await plan(system, await run(system, canvas, 0))

    await cancelCanvas(system, canvas.id)

    const { status, items } = await shown(system, canvas)
    expect(status).toBe('cancelled')
    expect(items.map(item => item.status)).toEqual([
      'failed',
      'skipped',
      'cancelled',
      'cancelled',
      'cancelled',
    ])
    expect((await headOf(system, canvas.id)).owes).toBeUndefined()
  })

  it('stays owed when its process dies midway, and the jobs function finishes it', async () => {
    const canvas = await published(system, chordOf(3))

    await cancelCanvas(
      failing(system, head => isTask(head) && head.member?.leaf === 1),
      canvas.id,
    )
    const owing = await headOf(system, canvas.id)
    await system.clock.advance(MINUTE)
    await sweepCanvases(system, NO_END)
    const [look] = system.messages.canvasLooks
    if (look) await driveCanvas(system, look, system.clock.now() + MINUTE)

    expect(owing).toMatchObject({ state: 'cancelled', owes: true, view: { bucket: 'open' } })
    expect(await headOf(system, canvas.id)).toMatchObject({ view: { bucket: 'cancelled' } })
    const states = await Promise.all([0, 1, 2, 3].map(leaf => member(system, canvas, leaf)))
    expect(states.map(task => task?.state)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled'])
  })

  it('between the end of one member and the start of the next starts nothing', async () => {
    const canvas = await published(system, { chain: [add(1), add(2)] })
    const ended = await run(system, canvas, 0)
    const head = await headOf(system, canvas.id)
    await system.tasks.apply(changeOf(cancelHead(head, system.clock.now())))

    await plan(system, ended)

    expect(await startedLeaves(system, canvas)).toEqual([0])
  })
})

describe('a member', () => {
  it('is kept for a day at least, so that its result can be handed on', async () => {
    const canvas = await published(system, {
      chain: [{ leaf: { type: 'add', input: [1], options: { retentionMs: 1_000 } } }, tell()],
    })

    await plan(system, await run(system, canvas, 0))
    await system.clock.advance(60 * MINUTE)
    await runAll(system, canvas)

    expect(await shown(system, canvas)).toMatchObject({ status: 'succeeded', result: [1] })
  })

  it('whose type refuses it by now counts as failed, and does not block the canvas', async () => {
    const canvas = await published(system, { chain: [add(1), tell()] })
    const types = {
      ...system.types,
      get: async (name: string) => (name === 'tell' ? undefined : system.types.get(name)),
    }

    await plan({ ...system, types }, await run(system, canvas, 0))

    expect(await shown(system, canvas)).toMatchObject({ status: 'failed', error: { name: 'NotPublished' } })
  })
})

describe('a key of a member', () => {
  it('that an unrelated task has makes the member fail, and does not block the canvas', async () => {
    const canvas = await published(system, { chain: [add(1), add(2)] })
    await stored(system, { type: 'add', key: `${canvas.born}.1` })

    await plan(system, await run(system, canvas, 0))

    expect((await shown(system, canvas)).status).toBe('failed')
  })
})

describe('a canvas whose message waits', () => {
  it('gets no new message while other messages wait in the jobs queue, and gets one once they are gone', async () => {
    const large: Written = { group: Array.from({ length: 1_003 }, (_, n) => add(n)) }
    await published(system, large)
    system.messages.canvasLooks.length = 0
    system.messages.jobsWaiting = 3
    await system.clock.advance(MINUTE)

    await sweepCanvases(system, NO_END)
    const meanwhile = system.messages.canvasLooks.length
    system.messages.jobsWaiting = 0
    await sweepCanvases(system, NO_END)

    expect([meanwhile, system.messages.canvasLooks.length]).toEqual([0, 1])
  })
})
