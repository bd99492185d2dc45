import { taskIdPrefix } from '../../core/task/task.ts'
import { MARKER_LIFE_MS, type Marker } from '../../core/worker/worker.ts'
import type { Clock } from '../../ports/machine.ts'
import type { Targets } from '../../ports/stores.ts'

type Stored = { readonly marker: Marker; readonly expiresAt: number }

/** Stores markers of targeted tasks in memory. */
export function createMemoryTargets(clock: Pick<Clock, 'now'>): Targets {
  const markers = new Map<string, Stored>()
  const live = ({ marker, expiresAt }: Stored) => (expiresAt > clock.now() ? [marker] : [])
  return {
    mark: async marker => {
      markers.set(keyOf(marker), { marker, expiresAt: clock.now() + MARKER_LIFE_MS })
    },
    of: async (workerId, { type, after, limit }) => {
      const found = [...markers.values()]
        .flatMap(live)
        .filter(marker => marker.workerId === workerId)
        .filter(({ taskId }) => type === undefined || taskId.startsWith(taskIdPrefix(type)))
        .filter(({ taskId }) => after === undefined || taskId > after)
        .sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
      const page = found.slice(0, limit)
      const next = found.length > limit ? page.at(-1)?.taskId : undefined
      return { markers: page, ...(next !== undefined && { next }) }
    },
    among: async wanted => {
      const keys = [...new Set(wanted.map(keyOf))]
      return keys.flatMap(key => markers.get(key) ?? []).flatMap(live)
    },
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
