import { MARKER_LIFE_MS, type Marker } from '../core/worker.ts'
import type { Clock, Targets } from '../ports.ts'

/** Markers of targeted tasks in memory. */
export function createMemoryTargets(clock: Pick<Clock, 'now'>): Targets {
  const markers = new Map<string, { readonly marker: Marker; readonly expiresAt: number }>()
  return {
    mark: async marker => {
      markers.set(keyOf(marker), { marker, expiresAt: clock.now() + MARKER_LIFE_MS })
    },
    of: async (workerId, limit) =>
      [...markers.values()]
        .filter(({ marker, expiresAt }) => marker.workerId === workerId && expiresAt > clock.now())
        .map(({ marker }) => marker)
        .sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
        .slice(0, limit),
    clear: async marker => {
      const stored = markers.get(keyOf(marker))?.marker
      const isSame = stored?.born === marker.born && stored.revision === marker.revision
      if (isSame) markers.delete(keyOf(marker))
    },
  }
}

function keyOf({ workerId, taskId }: Marker): string {
  return `${workerId}\n${taskId}`
}
