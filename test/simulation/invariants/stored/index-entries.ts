import { withIndexEntries } from '../../../../shared/core/place/place.ts'
import type { Head } from '../../../../shared/core/task/head.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'

/** Promises about the entries of heads in the indexes, as the table stores them. */
export const INDEX_INVARIANTS: readonly Invariant[] = [
  {
    name: 'at rest every stored index entry is the one that follows from its head',
    watch: () => ({
      atEnd: heads => {
        const odd = heads.find(head => entriesOf(head) !== entriesOf(computed(head)))
        return odd && `${odd.id} has the entries ${entriesOf(odd)} instead of ${entriesOf(computed(odd))}`
      },
    }),
  },
]

/** The head with its entries as its last write computed them. */
function computed(head: SeenHead): SeenHead {
  return withIndexEntries(head as Head, head.updatedAt) as SeenHead
}

function entriesOf({ view, place }: SeenHead): string {
  return JSON.stringify([view?.bucket, view?.sort, place?.name, place?.order])
}
