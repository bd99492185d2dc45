import { START } from '../../world/world.ts'
import type { Invariant, Write } from '../invariant.ts'
import { createWaits } from '../waits.ts'

const STARTED_WITHIN_MS = 2 * 60_000

/** Promises about tasks behind others that no present worker may take. */
export const FRONT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a task that a worker may take starts within minutes, however many that it may not take wait before it',
    watch: ({ trial, calmAt }) => {
      if (trial !== 'front') return {}
      const waits = createWaits()
      const onWrite = ({ at, after }: Write) => {
        if (after.options.minWorkerVersion !== undefined) return
        waits.set(after.id, after.operation === 'publish' ? at : undefined)
      }
      return {
        on: event => {
          if (event.what === 'write') onWrite(event)
          return waits.late(event.at, STARTED_WITHIN_MS, START + calmAt)
        },
      }
    },
  },
]
