import type { Task } from '../../../../shared/core/task/task.ts'
import type { Invariant, Write } from '../invariant.ts'

/** While one tenant waits, each other tenant is served at most this often. */
const ROUNDS_MAX = 8
/** By then an index shows a new task, and the tickets that were sent before its publish are used up. */
const SHOWN_WITHIN_MS = 2_000

/** Promises about fairness between tenants. */
export const TENANT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no tenant waits until all tasks of another are done',
    watch: ({ trial }) => {
      /** For each tenant: its waiting tasks, and since when they wait. */
      const waiting = new Map<string, Map<string, number>>()
      /** How many tasks of other tenants were claimed since a task of the tenant was due. */
      const passedBy = new Map<string, number>()
      const onClaim = ({ after, at }: Write) => {
        const mine = tenantOf(after)
        waiting.get(mine)?.delete(after.id)
        passedBy.set(mine, 0)
        for (const [tenant, tasks] of waiting) {
          const isDue = [...tasks.values()].some(since => at - since > SHOWN_WITHIN_MS)
          if (tenant === mine || !isDue) continue
          const times = (passedBy.get(tenant) ?? 0) + 1
          passedBy.set(tenant, times)
          if (times > ROUNDS_MAX * waiting.size)
            return `${times} tasks of other tenants were claimed while ${tenant} waited, among ${waiting.size} tenants`
        }
        return undefined
      }
      return {
        on: event => {
          if (trial !== 'tenants' || event.what !== 'write') return undefined
          const { after, at } = event
          if (after.operation === 'claim') return onClaim(event)
          if (after.operation !== 'publish') return undefined
          const tasks = waiting.get(tenantOf(after)) ?? new Map<string, number>()
          waiting.set(tenantOf(after), tasks.set(after.id, at))
          return undefined
        },
      }
    },
  },
]

function tenantOf({ fairnessKey }: Task): string {
  return fairnessKey ?? 'no tenant'
}
