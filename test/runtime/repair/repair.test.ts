import { describe, expect, it } from 'vitest'
import { NOTHING_SWEPT, type SweepReport, sumOf, sweepEach } from '../../../shared/runtime/repair.ts'

const A_REPORT: SweepReport = { examined: 1, repaired: 1, failed: 0 }
const FAILED_ONE: SweepReport = { ...NOTHING_SWEPT, failed: 1 }

const sweepItems = async (items: readonly string[]) => {
  const logged: string[] = []
  const sweepOne = async (item: string) => {
    if (item.startsWith('broken')) throw new Error('no answer')
    return A_REPORT
  }
  const report = await sweepEach(items, 2, sweepOne, (item, error) => logged.push(`${item}: ${error}`))
  return { report, logged }
}

describe('sweeping each item', () => {
  it.each<[string, readonly string[], SweepReport]>([
    ['nothing where there is none', [], NOTHING_SWEPT],
    ['the sum of all', ['a', 'b', 'c'], { examined: 3, repaired: 3, failed: 0 }],
    ['one failure for an item that cannot be swept', ['broken'], FAILED_ONE],
    [
      'the others all the same',
      ['a', 'broken 1', 'b', 'broken 2', 'c'],
      { examined: 3, repaired: 3, failed: 2 },
    ],
  ])('reports %s', async (_name, items, expected) => {
    expect((await sweepItems(items)).report).toEqual(expected)
  })

  it('logs each failure with its item', async () => {
    const { logged } = await sweepItems(['a', 'broken 1', 'broken 2'])

    expect(logged).toEqual(['broken 1: Error: no answer', 'broken 2: Error: no answer'])
  })
})

it('the sum of no reports is nothing', () => {
  expect(sumOf([])).toEqual(NOTHING_SWEPT)
})
