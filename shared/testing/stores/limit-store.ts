import type { HeldPermits, Holder, LimitChange } from '../../core/limits/held-permits.ts'
import type { SlotLog } from '../../core/limits/slots.ts'
import type { LimitStore } from '../../ports/stores.ts'
import { asStored } from './heads.ts'

/** Stores slots and permits in memory. `report` receives the changes that the table's stream reports to the planner. */
export function createMemoryLimitStore(report: (change: LimitChange) => void = () => undefined): LimitStore {
  const logs = new Map<string, { readonly log: SlotLog; readonly version: number }>()
  const permits = new Map<string, { readonly holders: Map<string, Holder>; waitNotedAt?: number }>()
  const permitsOf = (limit: string) => {
    const held = permits.get(limit) ?? { holders: new Map<string, Holder>() }
    permits.set(limit, held)
    return held
  }
  const shown = (limit: string): HeldPermits => {
    const { holders, waitNotedAt } = permitsOf(limit)
    return { holders: [...holders.values()], ...(waitNotedAt !== undefined && { waitNotedAt }) }
  }
  return {
    slots: async limit => logs.get(limit) ?? { log: undefined, version: 0 },
    putSlots: async (limit, log, seen) => {
      const stored = logs.get(limit)
      const isSeen =
        (stored?.version ?? 0) === seen.version && stored?.log.bookedAhead === seen.log?.bookedAhead
      if (!isSeen) return stored
      logs.set(limit, { log: asStored(log), version: seen.version + 1 })
      return undefined
    },
    countSlots: async (limit, version, count) => {
      const stored = logs.get(limit)
      if (stored?.version !== version) return undefined
      const more = stored.log.bookedAhead + count
      logs.set(limit, { version, log: { ...stored.log, bookedAhead: more } })
      return more
    },
    acquire: async (limit, holder, max) => {
      const { holders } = permitsOf(limit)
      if (holders.has(holder.holder)) return undefined
      if (holders.size >= max) return shown(limit)
      holders.set(holder.holder, holder)
      return undefined
    },
    release: async (limit, holder, since) => {
      const { holders, waitNotedAt } = permitsOf(limit)
      const isReleased = since === undefined || holders.get(holder)?.since === since
      const isFreed = isReleased && holders.delete(holder)
      if (isFreed && since === undefined && waitNotedAt !== undefined) report({ kind: 'freed', limit })
      return shown(limit)
    },
    renew: async (limit, holder, now) => {
      const { holders } = permitsOf(limit)
      const held = holders.get(holder)
      if (held) holders.set(holder, { ...held, since: now })
      return held !== undefined
    },
    permits: async limit => shown(limit),
    noteWaiting: async (limit, now, { max, staleAt }) => {
      const held = permitsOf(limit)
      const isNoted = held.waitNotedAt !== undefined && held.waitNotedAt > staleAt
      if (held.holders.size < max || isNoted) return shown(limit)
      held.waitNotedAt = now
      report({ kind: 'noted', limit, since: now })
      return undefined
    },
    renewWaiting: async (limit, now, seen) => {
      const held = permitsOf(limit)
      if (held.waitNotedAt !== seen) return false
      held.waitNotedAt = now
      return true
    },
    clearWaiting: async (limit, since) => {
      const held = permitsOf(limit)
      if (held.waitNotedAt === since) delete held.waitNotedAt
    },
  }
}
