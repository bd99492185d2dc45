import type { DerivedBody } from '../../api/publish.ts'
import type { Claim } from '../../api/runs.ts'
import type { Client } from '../../client/client.ts'
import { isOutage } from '../../client/outage.ts'
import { ProblemError } from '../../client/problem-error.ts'
import { BatonError, type ErrorCode } from '../../core/errors.ts'
import { defined } from '../../core/values/defined.ts'
import type { Json } from '../../core/values/json.ts'
import type { Clock } from '../../ports/machine.ts'
import type { KeptRun, Published, RunContent, RunFacts, RunRules } from '../../ports/runs.ts'
import { elapsedSince, type Moment, momentOf } from '../../runtime/kernel/system.ts'
import { type HeldRun, type HeldRuns, hasLeaseEnded } from './held-runs.ts'

type Tools = { readonly client: Client; readonly held: HeldRuns; readonly clock: Clock }

/** Keeps a claimed run by requests to the API. `claimSince` is a moment before its claim was sent first. */
export function keepOverHttp(
  { client, held, clock }: Tools,
  claim: Claim,
  claimSince: Moment,
): KeptRun<Claim> {
  const { task, run } = claim
  const { heartbeatMs, leaseMs } = task.options
  const mine: HeldRun = {
    ...{ taskId: task.id, runId: run.id, fence: run.fence, heartbeatMs, leaseMs },
    ...{ leaseSince: leaseSinceOf(claim, claimSince, clock), beatAt: 0 },
  }
  return {
    claim,
    facts: factsOf(claim),
    rules: rulesOf(claim, clock),
    hold: async lose => held.hold(mine, lose),
    hasLeaseEnded: () => hasLeaseEnded(clock, mine),
    content: () => contentOf(task, client),
    record: progress => {
      mine.progress = progress
    },
    publish: publication => publish(client, { ...defined({ userId: task.userId }), ...publication }),
    finish: outcome => held.finish(mine, outcome),
    forget: () => held.forget(mine),
  }
}

/**
 * When the lease began. A repeated claim returns leases that began before its answer. The clocks of the worker and the API may differ, but
 * no lease began before the claim was sent first.
 */
function leaseSinceOf({ task, run }: Claim, claimSince: Moment, clock: Clock): Moment {
  const { wall, monotonic } = momentOf(clock)
  const ageMs = wall - (Date.parse(run.leaseUntil) - task.options.leaseMs)
  const passedMs = Math.max(0, Math.min(ageMs, elapsedSince(clock, claimSince)))
  return { wall: wall - passedMs, monotonic: monotonic - passedMs }
}

function factsOf({ task, run }: Claim): RunFacts {
  const { stage, step, direction } = task
  return {
    taskId: task.id,
    runId: run.id,
    type: task.type,
    key: task.key,
    attempt: task.attempts.used,
    fence: run.fence,
    idempotencyKey: run.idempotencyKey,
    ...defined({ stage, step, direction }),
  }
}

/** The timeout counts from now by the worker's own clock. The API itself ends the run at the task's deadline. */
function rulesOf({ task: { options } }: Claim, clock: Clock): RunRules {
  const { timeoutMs, retry } = options
  return {
    localRetries: retry.localRetries,
    ...(timeoutMs !== undefined && { timeoutMs, timeoutAt: clock.now() + timeoutMs }),
  }
}

/** The content of the task. A long list comes in pages, and a long input is that of the flow's parameters. */
async function contentOf(task: Claim['task'], client: Client): Promise<RunContent> {
  const { params } = task
  const input = task.inputIsParams ? (params as Json) : task.input
  if (!task.previousPaged) return defined({ input, params, previous: task.previous })
  const previous = await allPrevious(task.id, client)
  return defined({ input: Array.isArray(input) ? [...input, ...previous] : input, params, previous })
}

async function allPrevious(id: string, client: Client): Promise<Json[]> {
  const previous: Json[] = []
  try {
    for await (const one of client.allPrevious(id)) previous.push(one)
    return previous
  } catch (error) {
    throw isOutage(error) ? new BatonError('unavailable', error.message, { cause: error }) : error
  }
}

const CODES: Partial<Record<string, ErrorCode>> = {
  invalid: 'invalid',
  'unknown-type': 'unknown-type',
  'too-large': 'too-large',
  conflict: 'refused',
}

async function publish(client: Client, body: DerivedBody): Promise<Published> {
  try {
    const { id, created } = await client.publish(body)
    return { id, created }
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const { errors: problems = [] } = error.problem
    throw new BatonError(CODES[error.code] ?? 'unavailable', error.message, { cause: error, problems })
  }
}
