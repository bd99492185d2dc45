import type { Task } from '../../../shared/core/task.ts'
import type { Invariant } from './invariant.ts'
import { claimIn, pieceOf, servingTypeOf } from './pieces.ts'

/** Promises about who works on a piece of work. */
export const OF_SERVERS: readonly Invariant[] = [
  {
    name: 'only who serves the type of the present step claims it',
    watch: ({ workers }) => {
      const typesOf = new Map(workers.map(({ workerId, types }) => [workerId, types]))
      return {
        on: happening => {
          const run = claimIn(happening)
          if (!run || happening.what !== 'write') return undefined
          const { after } = happening
          const type = servingTypeOf(after)
          const serves =
            typesOf.get(run.workerId)?.includes(type) || run.workerId.startsWith(`lambda ${type}-`)
          return serves ? undefined : `${run.workerId} claimed ${after.id}, which is at a step of ${type}`
        },
      }
    },
  },
  {
    name: 'a dispatch of one piece of work claims no other',
    watch: ({ types }) => {
      const byHttp = new Set(types.flatMap(({ type, servedBy }) => (servedBy === 'http' ? [type] : [])))
      const taken = new Set<string>()
      /** Tasks that listed workers at some time: these find them by markers of their own. */
      const targeted = new Set<string>()
      return {
        on: happening => {
          if (happening.what === 'delivered') taken.add(`${happening.by} ${nameOf(happening.task)}`)
          if (happening.what !== 'write') return undefined
          const { by, after } = happening
          if (after.options.workerIds.length > 0) targeted.add(after.id)
          if (after.operation !== 'claim') return undefined
          const isFound = byHttp.has(servingTypeOf(after)) || targeted.has(after.id)
          return isFound || taken.has(`${by} ${nameOf(after)}`)
            ? undefined
            : `${by} claimed ${after.id} at '${pieceOf(after)}', of which it had no dispatch`
        },
      }
    },
  },
]

function nameOf(task: Task): string {
  return `${task.id} ${task.born} ${pieceOf(task)}`
}
