import { type HeldPermits, type Holder, type LimitChange, shardOf } from '../../core/limits/held-permits.ts'
import type { SlotLog } from '../../core/limits/slots.ts'
import type { LimitStore } from '../../ports/stores.ts'
import { asStored } from './heads.ts'

/** Stores slots and permits in memory. `report` receives the changes that the table's stream reports to the planner. */
export function createMemoryLimitStore(report: (change: LimitChange) => void = () => undefined): LimitStore {
  const logs = new Map<string, { readonly log: SlotLog; readonly version: number }>()
  const permits = new Map<string, { readonly holders: Map<string, Holder>; waitNotedAt?: number }>()
  const permitsOf = (limit: string, shard = 0) => {
    const held = permits.get(`${limit} ${shard}`) ?? { holders: new Map<string, Holder>() }
    permits.set(`${limit} ${shard}`, held)
    return held
  }
  const shown = (limit: string, shards: readonly number[]): HeldPermits => {
    const holders = shards.flatMap(shard => [...permitsOf(limit, shard).holders.values()])
    const { waitNotedAt } = shards.includes(0) ? permitsOf(limit) : {}
    return { holders, ...(waitNotedAt !== undefined && { waitNotedAt }) }
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
      const shard = shardOf(holder.holder)
      const { holders } = permitsOf(limit, shard)
      if (holders.has(holder.holder)) return undefined
      if (holders.size >= max) return shown(limit, [shard])
      holders.set(holder.holder, holder)
      return undefined
    },
    release: async (limit, holder, { since, waitNotedAt } = {}) => {
      const shard = shardOf(holder)
      const { holders, waitNotedAt: noted = waitNotedAt } = permitsOf(limit, shard)
      const isReleased = since === undefined || holders.get(holder)?.since === since
      const isFreed = isReleased && holders.delete(holder)
      if (isFreed && since === undefined && noted !== undefined) report({ kind: 'freed', limit, shard })
      return shown(limit, [shard])
    },
    renew: async (limit, holder, now) => {
      const { holders } = permitsOf(limit, shardOf(holder))
      const held = holders.get(holder)
      if (held) holders.set(holder, { ...held, since: now })
      return held !== undefined
    },
    permits: async (limit, shards) => shown(limit, shards),
    noteWaiting: async (limit, now, { max, staleAt }) => {
      const held = permitsOf(limit)
      const isNoted = held.waitNotedAt !== undefined && held.waitNotedAt > staleAt
      if (held.holders.size < max || isNoted) return shown(limit, [0])
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
