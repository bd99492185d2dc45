import { describe, expect, it } from 'vitest'
import { playSeeds, type Tally } from './play-seeds.ts'

const FRAGILE = new URL('./fixtures/fragile-thread.ts', import.meta.url)

const seedsOf = ({ broken }: Tally) => broken.map(({ seed }) => seed)

describe('playing seeds', () => {
  it('counts what was played', async () => {
    const progress: Tally[] = []

    const tally = await playSeeds({
      from: 0,
      count: 3,
      program: FRAGILE,
      onProgress: tally => progress.push(tally),
    })

    expect(tally).toEqual({ seeds: 3, events: 0 + 1 + 2, virtualMs: 300, broken: [] })
    expect(progress.map(({ seeds }) => seeds)).toEqual([1, 2, 3])
    expect(progress.at(-1)).toEqual(tally)
  })

  it('counts seeds that end their thread as broken, and continues', async () => {
    const tally = await playSeeds({ from: 1, count: 6, mostBroken: 10, program: FRAGILE })

    expect(tally).toMatchObject({ seeds: 6, events: 1 + 2 + 4 + 6 })
    expect(tally.broken).toMatchObject([
      { seed: 3, verdict: { message: 'its thread exited with code 9' } },
      { seed: 5, verdict: { message: 'its thread died: Error: five' } },
    ])
  })

  it('finds the lowest broken seed, even if a higher one answers first', async () => {
    const tally = await playSeeds({ from: 6, count: 100, program: FRAGILE })

    expect(seedsOf(tally)).toEqual([7])
    expect(tally.seeds).toBeLessThan(10)
  })

  it('continues until as many seeds are broken as asked for', async () => {
    expect(seedsOf(await playSeeds({ from: 6, count: 100, mostBroken: 3, program: FRAGILE }))).toEqual([
      7, 8, 9,
    ])
  })

  it('plays simulated seeds for virtual minutes', async () => {
    const { seeds, events, virtualMs } = await playSeeds({ from: 1, count: 2, mostBroken: 2 })

    expect(seeds).toBe(2)
    expect(events).toBeGreaterThan(100)
    expect(virtualMs).toBeGreaterThan(20_000)
  })
})
