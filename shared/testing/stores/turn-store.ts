import type { TenantTurns, TurnStore } from '../../ports/stores.ts'

/** Stores the turns of tenants in memory. */
export function createMemoryTurnStore(): TurnStore {
  const tenants = new Map<string, TenantTurns>()
  const fronts = new Map<string, number>()
  return {
    of: async name => tenants.get(name),
    advance: async (name, count) => {
      const { last, joined } = tenants.get(name) ?? { last: 0, joined: 0 }
      const turns = { last: last + count, joined }
      tenants.set(name, turns)
      return turns
    },
    join: async (name, { front, count, far }) => {
      const stored = tenants.get(name)
      if (stored && stored.last >= front && stored.joined <= far) return stored
      tenants.set(name, { last: front + count - 1, joined: front })
      return undefined
    },
    front: async line => fronts.get(line),
    noteFront: async (line, turn) => {
      fronts.set(line, Math.max(turn, fronts.get(line) ?? turn))
    },
  }
}
