import type { BodyWrite } from '../../core/change/change.ts'
import { runRefPrefix } from '../../core/task/body.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { asStored } from './heads.ts'

/** Bodies and records of ended runs in memory: the items beside the heads. */
export type MemoryBodies = Pick<TaskStore, 'body' | 'renewBody' | 'dropBodies' | 'runRecords'> & {
  keep(id: string, bodies: readonly BodyWrite[]): void
}

export function createMemoryBodies(): MemoryBodies {
  const bodies = new Map<string, BodyWrite>()
  return {
    keep: (id, kept) => {
      for (const body of kept) bodies.set(keyOf(id, body.ref), asStored(body))
    },
    body: async (id, ref) => {
      const body = bodies.get(keyOf(id, ref))
      return body && 'value' in body ? body.value : undefined
    },
    renewBody: async (id, ref, expiresAt) => {
      const body = bodies.get(keyOf(id, ref))
      if (body) bodies.set(keyOf(id, ref), { ...body, expiresAt: Math.max(body.expiresAt, expiresAt) })
    },
    dropBodies: async (id, dropped) => {
      for (const { ref } of dropped) bodies.delete(keyOf(id, ref))
    },
    runRecords: async (id, born, limit) => {
      const prefix = keyOf(id, runRefPrefix(born))
      const keys = [...bodies.keys()]
        .filter(key => key.startsWith(prefix))
        .sort()
        .reverse()
      const records = keys.flatMap(key => bodies.get(key) ?? [])
      return records.flatMap(record => ('run' in record ? record.run : [])).slice(0, limit)
    },
  }
}

/** Splits bodies by when they are written: inputs and results before the head that points at them, run records after it. */
export function inOrderOfWriting(bodies: readonly BodyWrite[]): {
  readonly beforeHead: readonly BodyWrite[]
  readonly afterHead: readonly BodyWrite[]
} {
  return {
    beforeHead: bodies.filter(body => !('run' in body)),
    afterHead: bodies.filter(body => 'run' in body),
  }
}

function keyOf(id: string, ref: string): string {
  return `${id}\n${ref}`
}
