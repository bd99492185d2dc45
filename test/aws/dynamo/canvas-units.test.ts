import { describe, expect, it } from 'vitest'
import { createCanvas } from '../../../shared/core/canvas/canvas.ts'
import { create } from '../../../shared/core/publish.ts'
import { aMeteredDynamo } from '../../support/dynamo/metered-dynamo.ts'
import { totalOf } from '../../support/dynamo/unit-meter.ts'
import { aPublication, BORN, DAY, LATER_BORN, NOW } from '../../support/tasks/a-task.ts'
import { aCanvasWorld, published, runAll, shown, tell } from '../../support/worlds/a-canvas-world.ts'

const dynamo = aMeteredDynamo()

async function stores() {
  return dynamo.newStores()
}

const CANVAS = { canvasId: 'a-canvas-with-a-rather-long-name-of-its-own', born: BORN }

describe('a canvas in DynamoDB', () => {
  it.each([
    ['one leaf', 0, [7]],
    ['all leaves of the last chunk', 499, Array.from({ length: 200 }, (_, n) => 99_800 + n)],
  ])(
    'records the end of %s for one unit, and for one more unit when it is repeated',
    async (_name, chunk, leaves) => {
      const { canvases } = await stores()
      dynamo.take()

      await canvases.addEnds(CANVAS, chunk, { ok: leaves, bad: [] }, NOW + DAY)
      const first = dynamo.take()
      await canvases.addEnds(CANVAS, chunk, { ok: leaves, bad: [] }, NOW + DAY)
      const second = dynamo.take()
      await canvases.ends(CANVAS, [chunk])
      const read = dynamo.take()

      expect([first, second, read].map(totalOf)).toEqual([1, 1, 1])
    },
  )

  it('costs one unit for its head, and its members cost no more units than plain tasks', async () => {
    const { tasks } = await stores()
    const member = { canvasId: CANVAS.canvasId, born: BORN, leaf: 99_999 }
    const previous = {
      kind: 'node',
      handOn: 'spread',
      canvasId: CANVAS.canvasId,
      born: BORN,
      node: 1,
    } as const
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const publication = aPublication({
      key: `${BORN}.99999`,
      member,
      previous,
      traceparent,
      input: 'x'.repeat(198),
    })
    const layout = {
      shape: { chord: [[10_000], 1] },
      names: ['resize'],
      types: 'a10001',
      pages: [0, 5_000],
    }
    const head = { key: 'c', born: LATER_BORN, shard: 0, layout, pages: [], leaves: 10_001 }
    dynamo.take()

    await tasks.apply(create(publication, undefined, NOW))
    const ofMember = dynamo.take()
    await tasks.apply(createCanvas(head, undefined, NOW))
    const ofCanvas = dynamo.take()

    expect(ofMember).toEqual({ table: 1, view: 1 })
    expect(ofCanvas).toEqual({ table: 1, view: 1 })
  })

  it('has the same end as a canvas in memory, also with long results and errors', async () => {
    const { tasks, types, canvases, records } = await stores()
    const system = await aCanvasWorld({ tasks, types, canvases, records })
    const long = 'ü'.repeat(1_000)
    const canvas = await published(system, {
      chain: [tell(long), { chord: { group: [tell(1), tell(2), tell()], then: tell('end') } }],
    })

    await runAll(system, canvas, 3)

    expect(await shown(system, canvas)).toMatchObject({
      status: 'succeeded',
      result: ['end', [1, [long]], [2, [long]], [[long]]],
      counts: { succeeded: 5 },
    })
  })
})
