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
  {
    name: 'the sweeper reads no open task before it is due',
    needs: 'overdue',
    spoil: (system, table) => ({
      ...system,
      tasks: {
        ...system.tasks,
        page: async query => {
          const page = await system.tasks.page(query)
          const isDue = (id: string) => (table.head(id)?.dueAt ?? 0) <= system.clock.now()
          const entries = query.index === 'view' ? page.entries.filter(({ id }) => isDue(id)) : page.entries
          return { ...page, entries }
        },
      },
    }),
  },
  {
    name: 'the sweeper sends a waiting task in every round that may send it',
    needs: 'idle-days',
    spoil: system => ({ ...system, chance: { ...system.chance, fraction: () => 0 } }),
  },
  {
    name: 'a process does not remember where its last claim stopped reading',
    needs: 'front',
    spoil: system => ({
      ...system,
      // What a process remembers belongs to its store, so every read of the store is another one.
      get tasks() {
        return { ...system.tasks }
      },
    }),
  },
]
