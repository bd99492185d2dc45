import fc from 'fast-check'
import { expect, it } from 'vitest'
import { layoutFrom, pageOf, storedLayout } from '../../../shared/core/canvas/layout.ts'

it('a stored layout is read unchanged, for any types of leaves', () => {
  const runs = fc.array(fc.tuple(fc.integer({ min: 0, max: 800 }), fc.integer({ min: 1, max: 12 })), {
    minLength: 1,
  })
  fc.assert(
    fc.property(runs, all => {
      const types = all.flatMap(([name, count]) => new Array<string>(count).fill(`type-${name}`))

      const layout = layoutFrom(storedLayout({ group: [types.length] }, types, [0]))

      expect(layout.types).toEqual(types)
      expect(layout.tree.leafNodes).toHaveLength(types.length)
    }),
  )
})

it('the stored layout of many equal tasks is small', () => {
  const types = new Array<string>(10_000).fill('resize')

  const stored = storedLayout({ group: [10_000] }, types, [0])

  expect(JSON.stringify(stored).length).toBeLessThan(100)
})

it.each([
  [0, 0],
  [4, 0],
  [5, 1],
  [11, 2],
])('leaf %i is on page %i', (leaf, page) => {
  const layout = layoutFrom(storedLayout({ group: [12] }, new Array<string>(12).fill('a'), [0, 5, 9]))

  expect(pageOf(layout, leaf)).toBe(page)
})
