import type { Task } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn, pieceOf, servingTypeOf } from '../pieces.ts'
import { isAtLeast } from './settling.ts'

/** Promises about which workers claim a piece. */
export const CLAIMER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'only a worker that serves the type of the present step claims it',
    watch: ({ workers }) => {
      const typesOf = new Map(workers.map(({ workerId, types }) => [workerId, types]))
      return {
        on: event => {
          const run = claimIn(event)
          if (!run || event.what !== 'write') return undefined
          const { after } = event
          const type = servingTypeOf(after)
          const serves =
            typesOf.get(run.workerId)?.includes(type) || run.workerId.startsWith(`lambda-${type}-`)
          return serves ? undefined : `${run.workerId} claimed ${after.id}, which is at a step of ${type}`
        },
      }
    },
  },
  {
    name: 'no worker claims a task that asks for a higher version than it has',
    watch: ({ workers }) => {
      const versions = new Map(workers.map(({ workerId, version }) => [workerId, version]))
      return {
        on: event => {
          const run = claimIn(event)
          if (!run || event.what !== 'write') return undefined
          const { minWorkerVersion } = event.after.options
          const version = versions.get(run.workerId)
          const suffices =
            minWorkerVersion === undefined || (version !== undefined && isAtLeast(version, minWorkerVersion))
          return suffices
            ? undefined
            : `${run.workerId} claimed ${event.after.id}, which asks for ${minWorkerVersion}`
        },
      }
    },
  },
  /**
   * A dispatch is a ticket where its type has an order or tenants. The process reads the type when it serves
   * the dispatch. That may be long after it received the dispatch, and the type may have got its first tenant
   * meanwhile. So the type is judged as it is at the claim.
   */
  {
    name: 'a dispatch of one piece claims no other piece, unless it is a ticket of its type',
    watch: scenario => {
      const moves = scenario.steps.filter(step => step.do === 'move-type')
      const byHttp = new Set(
        [...scenario.types, ...moves].flatMap(({ type, servedBy }) => (servedBy === 'http' ? [type] : [])),
      )
      const ordered = new Set(orderedTypes(scenario))
      const received = new Set<string>()
      /** Tasks that listed workers at some time. The listed workers find them by markers. */
      const targeted = new Set<string>()
      const recordReceived = (by: string, task: Task) => {
        received.add(`${by} ${nameOf(task)}`)
        received.add(`${by} of ${servingTypeOf(task)}`)
        if (task.fairnessKey !== undefined) received.add(`${by} any ${servingTypeOf(task)}`)
      }
      const isAllowed = (by: string, task: Task) => {
        const type = servingTypeOf(task)
        const isFound = byHttp.has(type) || targeted.has(task.id)
        const hasTicket =
          received.has(`${by} any ${type}`) || (ordered.has(type) && received.has(`${by} of ${type}`))
        return isFound || hasTicket || received.has(`${by} ${nameOf(task)}`)
      }
      return {
        on: event => {
          const { by } = event
          if (event.what === 'type' && event.type.isFair) ordered.add(event.type.type)
          if (event.what === 'delivered') recordReceived(by, event.task)
          if (event.what !== 'write') return undefined
          const { after } = event
          if (after.options.workerIds.length > 0) targeted.add(after.id)
          if (after.operation !== 'claim' || isAllowed(by, after)) return undefined
          return `${by} claimed ${after.id} at '${pieceOf(after)}' without a dispatch of it`
        },
      }
    },
  },
]

function nameOf(task: Task): string {
  return `${task.id} ${task.born} ${pieceOf(task)}`
}

/** Types whose tasks are claimed by an order of their own at some time. */
function orderedTypes({ types, steps }: Scenario): ReadonlySet<string> {
  const puts = steps.flatMap(step => (step.do === 'deploy' || step.do === 'put-type' ? [step] : []))
  return new Set([...types, ...puts].flatMap(({ type, ordering }) => (ordering ? [type] : [])))
}
