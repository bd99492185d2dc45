import { successes } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import { FAULTY_KEY_PREFIXES, isFaulty } from '../../world/faults.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'
import { servingTypeOf } from '../pieces.ts'

/** Promises about the end of a run of the simulation, and about unexpected errors. */
export const FINAL_STATE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no invocation fails except by an outage',
    watch: () => ({
      on: event => (event.what === 'unexpected-error' ? `${event.by} failed: ${event.error}` : undefined),
    }),
  },
  {
    name: 'no request has a content that DynamoDB would refuse',
    watch: () => ({
      on: event => (event.what === 'refused' ? `the store refused ${event.why}` : undefined),
    }),
  },
  {
    name: 'every accepted task reaches a final status, or waits for a worker that does not exist',
    watch: scenario => ({
      atEnd: heads => {
        const open = firstUnsettled(heads, scenario)
        return (
          open &&
          `${open.id} is still ${open.owes ? 'owing callbacks' : 'open'}: due ${new Date(open.dueAt).toISOString()}, ${Object.keys(open.live).length} live runs, ${open.failures} failures`
        )
      },
    }),
  },
]

type Candidate = { readonly workerId: string; readonly version?: string }

/** A task that a handler delays for this long is not executed within the simulated time. */
const FAR_FUTURE_MS = 86_400_000

const LAMBDA: Candidate = { workerId: 'a later invocation' }

/** A task that workers must still change; undefined when there is none. A canvas waits with its members. */
export function firstUnsettled(tasks: readonly SeenHead[], scenario: Scenario): SeenHead | undefined {
  const mayRest = (task: SeenHead) => isAtRest(task, scenario) || isStuckByFault(task, scenario)
  const busy = tasks.find(task => !task.canvas && !mayRest(task))
  if (busy) return busy
  const waiting = new Set(
    tasks.flatMap(({ state, member }) => (state === 'open' && member ? member.born : [])),
  )
  return tasks.find(
    ({ canvas, owes, state, born }) => canvas && (owes || (state === 'open' && !waiting.has(born))),
  )
}

/** Whether the task is faulty and stays open. A task whose claims alone are refused fails instead. */
function isStuckByFault({ id, key }: SeenHead, scenario: Scenario): boolean {
  return isFaulty(scenario, id) && !key.startsWith(FAULTY_KEY_PREFIXES.claims)
}

/** Whether no worker will change the task: it has ended, or no worker of the scenario may take it. */
function isAtRest(task: SeenHead, { types, workers, steps }: Scenario): boolean {
  if (task.state !== 'open') return !task.owes
  if (Object.keys(task.live).length > 0 || task.deadlineAt !== undefined) return false
  // All successes are recorded, so the end must still be written.
  if (successes(task).length >= task.options.concurrency) return false
  const serving = servingTypeOf(task)
  const moves = steps.filter(step => step.do === 'move-type')
  const isByLambda = [...types, ...moves].some(
    ({ type, servedBy }) => type === serving && servedBy === 'lambda',
  )
  const candidates = [
    ...(isByLambda ? [LAMBDA] : []),
    ...workers.filter(({ types }) => types.includes(serving)),
  ]
  const isDelayedFar = task.dueAt > task.updatedAt + FAR_FUTURE_MS
  return isDelayedFar || !candidates.some(candidate => mayStillTake(task, candidate))
}

/** Whether a worker may still take a task, by the product's rules and independently of the code. */
function mayStillTake(
  { options, ended, failures, failuresBy }: SeenHead,
  { workerId, version }: Candidate,
): boolean {
  const { workerIds, minWorkerVersion, retry } = options
  const isListed = workerIds.length === 0 || workerIds.includes(workerId)
  const isNewEnough = minWorkerVersion === undefined || isAtLeast(version ?? '0', minWorkerVersion)
  const hasSucceeded = Object.values(ended).some(
    run => run.workerId === workerId && run.state === 'succeeded' && !run.past,
  )
  const spent = retry.scope === 'task' ? failures : (failuresBy[workerId] ?? 0)
  return isListed && isNewEnough && !hasSucceeded && spent <= retry.maxRetries
}

/** Whether a version is at least another one. A number that is left out counts as zero. */
export function isAtLeast(version: string, least: string): boolean {
  const [have, need] = [version, least].map(text => [...text.split('.').map(Number), 0, 0, 0].slice(0, 4))
  const at = need?.findIndex((number, index) => number !== have?.[index]) ?? -1
  return at < 0 || (have?.[at] ?? 0) > (need?.[at] ?? 0)
}
