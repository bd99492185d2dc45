import type { HeldPermits, Holder } from '../../core/limits/held-permits.ts'
import type { Line, LimitChange, LineNote } from '../../core/limits/line.ts'
import type { SlotLog } from '../../core/limits/slots.ts'
import type { LimitStore } from '../../ports/stores.ts'
import { asStored } from './heads.ts'

/** Stores slots, permits and the notes of lines in memory. `report` receives the changes that the table's stream reports to the planner. */
export function createMemoryLimitStore(report: (change: LimitChange) => void = () => undefined): LimitStore {
  const logs = new Map<string, { readonly log: SlotLog; readonly version: number }>()
  const lines = new Map<string, { readonly line: Line; readonly note: LineNote; readonly version: number }>()
  const permits = new Map<string, Map<string, Holder>>()
  const permitsOf = (limit: string) => {
    const held = permits.get(limit) ?? new Map<string, Holder>()
    permits.set(limit, held)
    return held
  }
  const shown = (limit: string): HeldPermits => ({ holders: [...permitsOf(limit).values()] })
  const nameOf = ({ kind, limit }: Line) => `${kind} ${limit}`
  return {
    slots: async limit => logs.get(limit) ?? { log: undefined, version: 0 },
    putSlots: async (limit, log, seen) => {
      const stored = logs.get(limit)
      if ((stored?.version ?? 0) !== seen.version) return stored ?? { log: undefined, version: 0 }
      logs.set(limit, { log: asStored(log), version: seen.version + 1 })
      return undefined
    },
    line: async line => lines.get(nameOf(line)) ?? { note: undefined, version: 0 },
    putLine: async (line, note, seen, { isNoted } = { isNoted: false }) => {
      const stored = lines.get(nameOf(line))
      if ((stored?.version ?? 0) !== seen.version) return stored ?? { note: undefined, version: 0 }
      lines.set(nameOf(line), { line, note: asStored(note), version: seen.version + 1 })
      if (isNoted) report({ kind: 'noted', line, lookAt: note.lookAt })
      return undefined
    },
    endLine: async (line, seen) => {
      if (lines.get(nameOf(line))?.version === seen.version) lines.delete(nameOf(line))
    },
    overdueLines: async (before, most) =>
      [...lines.values()].flatMap(({ line, note }) => (note.lookAt < before ? [line] : [])).slice(0, most),
    acquire: async (limit, holder, max) => {
      const holders = permitsOf(limit)
      if (holders.has(holder.holder)) return undefined
      if (holders.size >= max) return shown(limit)
      holders.set(holder.holder, holder)
      return undefined
    },
    release: async (limit, holder, since) => {
      const holders = permitsOf(limit)
      const isReleased = since === undefined || holders.get(holder)?.since === since
      const isFreed = isReleased && holders.delete(holder)
      if (isFreed && since === undefined) report({ kind: 'freed', limit })
      return shown(limit)
    },
    renew: async (limit, holder, now) => {
      const holders = permitsOf(limit)
      const held = holders.get(holder)
      if (held) holders.set(holder, { ...held, since: now })
      return held !== undefined
    },
    permits: async limit => shown(limit),
  }
}
