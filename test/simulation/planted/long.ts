import type { Head } from '../../../shared/core/task/head.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withTaskWrites } from './task-writes.ts'

/** Faults that show only after long waits: in lines behind limits, at far due times, after deployments, and over days. */
export const LONG_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a type that changes its kind leaves its waiting tasks as they are',
    needs: 'moved-types',
    spoil: system =>
      withTaskWrites(system, apply => change => {
        const { before, after } = change
        if (!before || after.operation !== 'patch') return apply(change)
        const { kind, ordering, flow } = before
        return apply({ ...change, after: { ...after, kind, ordering, ...(flow && { flow }) } })
      }),
  },
  {
    name: 'a purge takes open canvases for ended ones',
    needs: 'purged-canvases',
    spoil: system => ({
      ...system,
      tasks: {
        ...system.tasks,
        heads: async ids =>
          (await system.tasks.heads(ids)).map(head =>
            head.kind === 'canvas' ? ({ ...head, state: 'succeeded' } as Head) : head,
          ),
      },
    }),
  },
]
