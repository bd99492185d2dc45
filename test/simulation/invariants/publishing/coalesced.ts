import type { Scenario, Step } from '../../scenario.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn } from '../pieces.ts'
import { nonceOf } from './tags.ts'

type Publish = Extract<Step, { readonly do: 'publish' }>

/** Promises about publishes that are debounced or throttled. */
export const COALESCED_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a debounced task is put off by at most the longest wait after its first publish',
    watch: scenario => {
      const requests = requestsBy(scenario, 'debounce')
      if (requests.size === 0) return {}
      return {
        on: event => {
          if (event.what !== 'write' || !PUBLISHED.has(event.after.operation)) return undefined
          const { after } = event
          const { maxWaitMs } = requests.get(keyOf(after))?.[0]?.request.debounce ?? {}
          if (maxWaitMs === undefined) return undefined
          const latest = Math.max(after.createdAt + maxWaitMs, after.updatedAt)
          return after.dueAt > latest
            ? `${after.id} is put off to ${after.dueAt - after.createdAt} ms after its first publish, and ${maxWaitMs} ms are allowed`
            : undefined
        },
      }
    },
  },
  {
    name: 'after each acknowledged publish of a debounced key, a run begins with its input or with a later one',
    watch: scenario => {
      const requests = requestsBy(scenario, 'debounce')
      if (requests.size === 0) return {}
      /** When each publish was acknowledged. Others may have been written at any later time. */
      const acknowledged = new Map<number, number>()
      const begun = new Set<number>()
      return {
        on: event => {
          if (event.what === 'answer' && event.step.do === 'publish' && event.answer.ok)
            acknowledged.set(event.step.nonce, event.at)
          const run = claimIn(event)
          if (run && event.what === 'write') begun.add(nonceOf(event.after) ?? Number.NaN)
          return undefined
        },
        atEnd: () => {
          for (const publishes of requests.values()) {
            const lost = publishes.find(one => acknowledged.has(one.nonce) && !isServed(one, publishes))
            if (lost)
              return `the publish ${lost.nonce} of ${lost.request.key} was acknowledged, and no run followed`
          }
          return undefined
        },
      }

      function isServed({ at }: Publish, publishes: readonly Publish[]): boolean {
        return publishes.some(
          ({ nonce }) =>
            begun.has(nonce) && (acknowledged.get(nonce) ?? Number.POSITIVE_INFINITY) >= START + at,
        )
      }
    },
  },
  {
    name: 'a throttled key begins again at most once in each window, and never while its task is open',
    watch: scenario => {
      const requests = requestsBy(scenario, 'throttle')
      if (requests.size === 0) return {}
      return {
        on: event => {
          if (event.what !== 'write' || !event.before || event.before.born === event.after.born)
            return undefined
          const { before, after } = event
          const { perMs = 0 } = requests.get(after.id)?.[0]?.request.throttle ?? {}
          if (perMs === 0 || before.state === 'removed') return undefined
          if (before.state === 'open') return `${after.id} begins again, although it is open`
          const betweenMs = after.createdAt - before.createdAt
          return betweenMs < perMs
            ? `${after.id} begins again after ${betweenMs} ms, in a window of ${perMs} ms`
            : undefined
        },
      }
    },
  },
]

const PUBLISHED: ReadonlySet<string> = new Set(['publish', 'update', 'restart'])

/** The debounced or throttled publishes, by the task's id. All publishes of one key have the same window. */
function requestsBy({ steps }: Scenario, how: 'debounce' | 'throttle'): Map<string, Publish[]> {
  const found = new Map<string, Publish[]>()
  for (const step of steps) {
    if (step.do !== 'publish' || !step.request[how]) continue
    const id = `${step.request.type}:${step.request.key}`
    found.set(id, [...(found.get(id) ?? []), step])
  }
  return found
}

/** The id of the debounced task. A publish during its run waits under a key of its own, and names the task that it follows. */
function keyOf({ id, parentId }: SeenHead): string {
  return parentId ?? id
}
