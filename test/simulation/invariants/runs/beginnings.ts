import { CHILD_NONCE, NEXT_NONCE, scriptIn } from '../../actors/handlers.ts'
import { STEP_NONCE } from '../../generate/flows.ts'
import { PATCHED_NONCE } from '../../generate/steps.ts'
import { allJobs } from '../../jobs-in.ts'
import type { Step } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn } from '../pieces.ts'

/** How often the handler of one run may begin: once, and once more for a local retry. */
const STARTS_PER_RUN_MAX = 2

/** Promises about handlers that begin. */
export const HANDLER_START_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a handler begins once per run and local retry, in the worker that claimed the run',
    watch: () => {
      const claims = new Map<string, string>()
      const starts = new Map<string, number>()
      return {
        on: event => {
          const run = claimIn(event)
          if (run && event.what === 'write') {
            // After a head was deleted, the next birth of its key may use the same fences again.
            claims.set(`${event.after.id} ${run.fence}`, run.workerId)
            starts.delete(`${event.after.id} ${run.fence}`)
          }
          if (event.what !== 'began') return undefined
          const { id, fence, workerId } = event
          const name = `${id} ${fence}`
          if (claims.get(name) !== workerId)
            return `${workerId} runs ${id} under fence ${fence}, which it did not claim`
          const times = (starts.get(name) ?? 0) + 1
          starts.set(name, times)
          return times > STARTS_PER_RUN_MAX
            ? `the handler of ${id} began ${times} times under fence ${fence}`
            : undefined
        },
      }
    },
  },
  {
    name: 'a handler is given an input of its own task',
    watch: ({ steps }) => {
      const givenTo = takers(steps)
      return {
        on: event => {
          if (event.what !== 'began') return undefined
          const { id, input } = event
          const nonce = scriptIn(input)?.nonce ?? Number.NaN
          const isGiven = OWN_NONCES.has(nonce) || givenTo.get(nonce)?.(id)
          return isGiven ? undefined : `${id} runs with an input of another task`
        },
      }
    },
  },
]

const OWN_NONCES: ReadonlySet<number> = new Set([PATCHED_NONCE, CHILD_NONCE, STEP_NONCE, NEXT_NONCE])

/**
 * The tasks that may be given the input of each nonce: the task that was published with it, or any task of the
 * job's type.
 */
function takers(steps: readonly Step[]): Map<number, (id: string) => boolean> {
  const published = steps.flatMap(step => {
    if (step.do !== 'publish') return []
    const { type, key, debounce } = step.request
    const own = `${type}:${key}`
    // A debounced publish waits under `key~1` while the task of its key runs.
    const isOwn = (id: string) => id === own || (debounce !== undefined && id.startsWith(`${own}~`))
    return [[step.nonce, isOwn] as const]
  })
  const jobs = allJobs(steps).map(
    ({ nonce, type }) => [nonce, (id: string) => id.startsWith(`${type}:`)] as const,
  )
  return new Map([...published, ...jobs])
}
