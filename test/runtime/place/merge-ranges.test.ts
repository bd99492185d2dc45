import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { IndexEntry, IndexQuery, TaskStore } from '../../../shared/ports/stores.ts'
import { type MergedEntry, mergeRanges, take } from '../../../shared/runtime/place/ready.ts'
import { aTaskStore } from '../../support/worlds/memory-system.ts'

/** Partitions by number. Each has its own order among equal sort keys, as DynamoDB's indexes have. */
function storeOf(partitions: ReadonlyArray<readonly IndexEntry[]>): TaskStore {
  const page = async ({ partition, from, to, after, descending, limit }: IndexQuery) => {
    const all = partitions[Number(partition)] ?? []
    const ordered = descending ? all.toReversed() : all
    const start = after ? ordered.findIndex(({ id }) => id === after.id) + 1 : 0
    const rest = ordered
      .slice(start)
      .filter(({ sort }) => (from === undefined || sort >= from) && (to === undefined || sort <= to))
    return { entries: rest.slice(0, limit), more: rest.length > limit }
  }
  return { ...aTaskStore(), page }
}

const partitions = fc
  .array(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 12 }), { minLength: 1, maxLength: 5 })
  .map(all =>
    all.map((sorts, partition) =>
      sorts.toSorted((a, b) => a - b).map((sort, n) => ({ id: `${partition}-${(n * 7) % 12}`, sort })),
    ),
  )

it('merged ranges show every entry once and in order, wherever a reader stops and continues', async () => {
  const steps = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(
      partitions,
      steps,
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (all, sizes, pageSize, descending) => {
        const ranges = all.map((_, number) => ({ index: 'view' as const, partition: `${number}` }))
        const seen: MergedEntry[] = []
        for (let turn = 0; ; turn++) {
          const options = { pageSize, descending, after: seen.at(-1) }
          const page = await take(mergeRanges(storeOf(all), ranges, options), sizes[turn % sizes.length] ?? 1)
          if (page.length === 0) break
          seen.push(...page)
        }
        const sorts = seen.map(({ sort }) => Number(sort))
        expect(sorts).toEqual(sorts.toSorted((a, b) => (descending ? b - a : a - b)))
        expect(seen.map(({ id }) => id).toSorted()).toEqual(
          all
            .flat()
            .map(({ id }) => id)
            .toSorted(),
        )
      },
    ),
  )
})
