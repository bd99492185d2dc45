import { withIndexEntries } from '../../../shared/core/place/place.ts'
import type { SeenHead } from '../world/seen-head.ts'
import { type Invariant, onEachWrite } from './invariant.ts'

/** Promises about the entries of heads in the indexes, by which tasks are found and listed. */
export const INDEX_ENTRY_INVARIANTS: readonly Invariant[] = [
  onEachWrite('no index leads workers to a task that has ended', ({ after }) =>
    after.state !== 'open' && after.place
      ? `${after.id} is ${after.state}, and still in the place ${after.place.name}`
      : undefined,
  ),
  {
    name: 'at rest each index entry is the one that follows from its head',
    watch: () => ({
      atEnd: heads => {
        const wrong = heads.find(head => stored(head) !== stored(computed(head)))
        return wrong && `${wrong.id} is stored as ${stored(wrong)}, but is ${stored(computed(wrong))}`
      },
    }),
  },
]

/** A heartbeat leaves its head's other entries, so all follow from the time of the last other write. */
function computed(head: SeenHead): SeenHead {
  return withIndexEntries(head, head.updatedAt)
}

/** The order within a place may contain a turn, which does not follow from the head. */
function stored({ view, place }: SeenHead): string {
  return JSON.stringify({ bucket: view?.bucket, sort: view?.sort, place: place?.name })
}
