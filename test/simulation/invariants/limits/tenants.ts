import type { Task } from '../../../../shared/core/task/task.ts'
import type { Invariant, Write } from '../invariant.ts'

/** Where tenants take turns, each of the others is served this often at most before one is. */
const ROUNDS_MAX = 8
/** An index shows it, and tokens that were sent before it are used up. */
const SHOWN_WITHIN_MS = 2_000

/** Promises about tenants that take turns. */
export const TENANT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no tenant waits for all tasks of another',
    watch: ({ trial }) => {
      /** Of each tenant, the tasks that wait, and since when. */
      const waiting = new Map<string, Map<string, number>>()
      /** How many of others were claimed since one of its tasks should have been. */
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
            return `${times} tasks of others were claimed while ${tenant} waited, among ${waiting.size} tenants`
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
  return fairnessKey ?? 'nobody'
}
