import type { HeldPermits, Holder, LimitChange } from '../core/limits/held-permits.ts'
import type { SlotLog } from '../core/limits/slots.ts'
import type { LimitStore } from '../ports/stores.ts'
import { asStored } from './heads.ts'

/** What limits have granted, in memory. `tell` is told what the table's stream tells the planner. */
export function createMemoryLimitStore(tell: (change: LimitChange) => void = () => undefined): LimitStore {
  const starts = new Map<string, { readonly log: SlotLog; readonly version: number }>()
  const permits = new Map<string, { readonly holders: Map<string, Holder>; waitsSince?: number }>()
  const of = (limit: string) => {
    const held = permits.get(limit) ?? { holders: new Map<string, Holder>() }
    permits.set(limit, held)
    return held
  }
  const shown = (limit: string): HeldPermits => {
    const { holders, waitsSince } = of(limit)
    return { holders: [...holders.values()], ...(waitsSince !== undefined && { waitsSince }) }
  }
  return {
    slots: async limit => starts.get(limit) ?? { log: undefined, version: 0 },
    putSlots: async (limit, log, seen) => {
      const stored = starts.get(limit)
      const isSeen =
        (stored?.version ?? 0) === seen.version && stored?.log.bookedAhead === seen.log?.bookedAhead
      if (!isSeen) return stored
      starts.set(limit, { log: asStored(log), version: seen.version + 1 })
      return undefined
    },
    countSlots: async (limit, version, count) => {
      const stored = starts.get(limit)
      if (stored?.version !== version) return undefined
      const more = stored.log.bookedAhead + count
      starts.set(limit, { version, log: { ...stored.log, bookedAhead: more } })
      return more
    },
    acquire: async (limit, holder, max) => {
      const { holders } = of(limit)
      if (holders.has(holder.holder)) return undefined
      if (holders.size >= max) return shown(limit)
      holders.set(holder.holder, holder)
      return undefined
    },
    release: async (limit, holder, since) => {
      const { holders, waitsSince } = of(limit)
      const isReleased = since === undefined || holders.get(holder)?.since === since
      const isFreed = isReleased && holders.delete(holder)
      if (isFreed && since === undefined && waitsSince !== undefined) tell({ kind: 'freed', limit })
      return shown(limit)
    },
    renew: async (limit, holder, now) => {
      const { holders } = of(limit)
      const held = holders.get(holder)
      if (held) holders.set(holder, { ...held, since: now })
      return held !== undefined
    },
    permits: async limit => shown(limit),
    noteWaiting: async (limit, now, { max, staleAt }) => {
      const held = of(limit)
      const isNoted = held.waitsSince !== undefined && held.waitsSince > staleAt
      if (held.holders.size < max || isNoted) return shown(limit)
      held.waitsSince = now
      tell({ kind: 'noted', limit, since: now })
      return undefined
    },
    renewWaiting: async (limit, now, seen) => {
      const held = of(limit)
      if (held.waitsSince !== seen) return false
      held.waitsSince = now
      return true
    },
    clearWaiting: async (limit, since) => {
      const held = of(limit)
      if (held.waitsSince === since) delete held.waitsSince
    },
  }
}
