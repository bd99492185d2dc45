import { successes, type Task } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import { FAULTY_KEY_PREFIXES, isFaulty } from '../../world/faults.ts'
import type { Invariant } from '../invariant.ts'
import { servingTypeOf } from '../pieces.ts'

/** What must hold once the weather has been calm for long. */
export const FINAL_STATE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no invocation fails but by an outage',
    watch: () => ({
      on: event => (event.what === 'unexpected-error' ? `${event.by} failed: ${event.error}` : undefined),
    }),
  },
  {
    name: 'the store is asked for nothing that it refuses for what it is',
    watch: () => ({
      on: event => (event.what === 'refused' ? `it refuses ${event.why}` : undefined),
    }),
  },
  {
    name: 'every accepted task reaches a final status, or waits for a worker that is not there',
    watch: scenario => ({
      atEnd: heads => {
        const open = firstUnsettled(heads, scenario)
        return (
          open &&
          `${open.id} is still ${open.owes ? 'owing' : 'open'}: due ${new Date(open.dueAt).toISOString()}, ${Object.keys(open.live).length} live runs, ${open.failures} failures`
        )
      },
    }),
  },
]

type Candidate = { readonly workerId: string; readonly version?: string }

/** What a handler puts off for so long will not be seen again here. */
const FAR_FUTURE_MS = 86_400_000

const LAMBDA: Candidate = { workerId: 'an invocation yet to come' }

/** A task to which something more must happen by itself. A canvas waits with its members. */
export function firstUnsettled(tasks: readonly Task[], scenario: Scenario): Task | undefined {
  const mayRest = (task: Task) => isAtRest(task, scenario) || isStuckByFault(task, scenario)
  const busy = tasks.find(task => !task.canvas && !mayRest(task))
  if (busy) return busy
  const waiting = new Set(
    tasks.flatMap(({ state, member }) => (state === 'open' && member ? member.born : [])),
  )
  return tasks.find(
    ({ canvas, owes, state, born }) => canvas && (owes || (state === 'open' && !waiting.has(born))),
  )
}

/** Nothing can be written of it, or nobody can read it. One whose claims alone are refused fails. */
function isStuckByFault({ id, key }: Task, scenario: Scenario): boolean {
  return isFaulty(scenario, id) && !key.startsWith(FAULTY_KEY_PREFIXES.claims)
}

/** Whether nothing more can happen to the task by itself: it is over, or no worker of the scenario may ever take it. */
function isAtRest(task: Task, { types, workers }: Scenario): boolean {
  if (task.state !== 'open') return !task.owes
  if (Object.keys(task.live).length > 0 || task.deadlineAt !== undefined) return false
  // All have succeeded: its end must still be written.
  if (successes(task).length >= task.options.concurrency) return false
  const serving = servingTypeOf(task)
  const isByLambda = types.some(({ type, servedBy }) => type === serving && servedBy === 'lambda')
  const candidates = isByLambda ? [LAMBDA] : workers.filter(({ types }) => types.includes(serving))
  const isPutOff = task.dueAt > task.updatedAt + FAR_FUTURE_MS
  return isPutOff || !candidates.some(candidate => mayStillTake(task, candidate))
}

/** As the product's rules have it, apart from how the code decides it. */
function mayStillTake(
  { options, ended, failures, failuresBy }: Task,
  { workerId, version }: Candidate,
): boolean {
  const { workerIds, minWorkerVersion, retry } = options
  const isListed = workerIds.length === 0 || workerIds.includes(workerId)
  const isNewEnough = minWorkerVersion === undefined || Number(version ?? 0) >= Number(minWorkerVersion)
  const hasSucceeded = Object.values(ended).some(
    run => run.workerId === workerId && run.state === 'succeeded' && !run.past,
  )
  const spent = retry.scope === 'task' ? failures : (failuresBy[workerId] ?? 0)
  return isListed && isNewEnough && !hasSucceeded && spent <= retry.maxRetries
}
