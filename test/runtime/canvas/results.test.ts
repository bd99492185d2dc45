import { describe, expect, it } from 'vitest'
import { contentOf } from '../../../shared/runtime/claim/claimed-task.ts'
import {
  aCanvasWorld,
  add,
  boom,
  leaf,
  member,
  multiply,
  published,
  runAll,
  shown,
  startedLeaves,
  tell,
  type Written,
} from '../../support/worlds/a-canvas-world.ts'

const threeSums: Written = { group: [add(1, 1), add(2, 2), add(5, 6)] }

describe('the result of a canvas is', () => {
  it.each<[string, Written, unknown]>([
    ['a chain: the result of its last member', { chain: [add(2, 2), add(5, 6), multiply(4)] }, 60],
    ['a group: the array', threeSums, [2, 4, 11]],
    ['a chord: what its callback makes of the array', { chord: { ...threeSums, then: multiply() } }, 88],
    [
      'a chord behind a chain: its members get the value',
      { chain: [add(1), { chord: { group: [add(1), add(2)], then: add() } }] },
      5,
    ],
    [
      'a chain of a group and a task: one argument',
      { chain: [threeSums, tell('sums')] },
      ['sums', [2, 4, 11]],
    ],
    [
      'a chord whose callback is a group',
      { chord: { group: [add(1), add(2)], then: { group: [add(3), tell()] } } },
      [6, [1, 2]],
    ],
    [
      'a chain of groups of chords',
      { chain: [{ group: [{ chord: { ...threeSums, then: multiply() } }, add(1)] }, tell()] },
      [[88, 1]],
    ],
    [
      'an immutable successor: takes nothing',
      { chain: [add(1), leaf('tell', ['me'], { immutable: true })] },
      ['me'],
    ],
    ['a task that returned nothing: null', { group: [leaf('list'), add(1)] }, [null, 1]],
  ])('%s', async (_name, composition, result) => {
    const system = await aCanvasWorld()
    const canvas = await published(system, composition)

    await runAll(system, canvas)

    expect(await shown(system, canvas)).toMatchObject({ status: 'succeeded', result })
  })

  it.each([1, 3, 100])('the same whichever members end together (%i at once)', async batch => {
    const system = await aCanvasWorld()
    const members = Array.from({ length: 450 }, (_, number) => add(number))
    const canvas = await published(system, { chord: { group: members, then: add() } })

    await runAll(system, canvas, batch)

    expect(await shown(system, canvas)).toMatchObject({ status: 'succeeded', result: (450 * 449) / 2 })
  })

  it('also built from results that are stored apart', async () => {
    const system = await aCanvasWorld()
    const long = 'x'.repeat(1_000)
    const canvas = await published(system, { chain: [tell(long), { group: [tell(1), tell(2)] }, tell()] })

    await runAll(system, canvas)

    expect((await shown(system, canvas)).result).toEqual([
      [
        [1, [long]],
        [2, [long]],
      ],
    ])
    expect((await member(system, canvas, 1))?.previous).toMatchObject({ kind: 'result' })
  })
})

describe('a failure', () => {
  it('ends a chain, and what comes after it is skipped', async () => {
    const system = await aCanvasWorld()
    const canvas = await published(system, { chain: [add(1), boom, add(2)] })

    await runAll(system, canvas)

    const { status, error, items, counts } = await shown(system, canvas)
    expect({ status, error }).toEqual({ status: 'failed', error: { name: 'Boom', message: 'no such luck' } })
    expect(items.map(item => [item.path, item.status])).toEqual([
      ['chain.0', 'succeeded'],
      ['chain.1', 'failed'],
      ['chain.2', 'skipped'],
    ])
    expect(counts).toMatchObject({ succeeded: 1, failed: 1, skipped: 1, pending: 0 })
    expect(await startedLeaves(system, canvas)).toEqual([0, 1])
  })

  it('in a chord calls its error callback once, after all have ended, with the error first', async () => {
    const system = await aCanvasWorld()
    const canvas = await published(system, {
      chord: { group: [boom, add(1), boom], then: add(), onError: tell('then') },
    })

    await runAll(system, canvas)

    const { status, items } = await shown(system, canvas)
    expect(status).toBe('failed')
    expect(items.map(({ status }) => status)).toEqual([
      'failed',
      'succeeded',
      'failed',
      'skipped',
      'succeeded',
    ])
    expect(items[4]?.result).toEqual(['no such luck', 'then'])
    const callback = await member(system, canvas, 4)
    const { previous } = callback ? await contentOf(system, callback) : {}
    expect(previous).toEqual({
      error: { name: 'Boom', message: 'no such luck' },
      taskId: items[0]?.taskId,
    })
  })

  it('of a member of a group lets the other members end', async () => {
    const system = await aCanvasWorld()
    const canvas = await published(system, { group: [boom, { chain: [add(1), add(2)] }] })

    await runAll(system, canvas)

    expect(await shown(system, canvas)).toMatchObject({
      status: 'failed',
      counts: { succeeded: 2, failed: 1 },
    })
  })
})

describe('a page of members', () => {
  it('names the next page, and the last page names none', async () => {
    const system = await aCanvasWorld()
    const canvas = await published(system, { group: Array.from({ length: 5 }, (_, n) => add(n)) })
    await runAll(system, canvas)

    const first = await shown(system, canvas, { limit: 3 })
    const second = await shown(system, canvas, { limit: 3, cursor: first.nextCursor ?? '' })

    expect(first.items.map(({ path }) => path)).toEqual(['group.0', 'group.1', 'group.2'])
    expect(first.result).toEqual([0, 1, 2, 3, 4])
    expect(second.items.map(({ result }) => result)).toEqual([3, 4])
    expect(second.result).toBeUndefined()
    expect(second.nextCursor).toBeUndefined()
  })
})
