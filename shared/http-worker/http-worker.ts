/**
 * Workers that speak HTTP only: they claim tasks of types of kind `http` from the API, run the definitions' handlers in this process, and
 * report the ends. They need no access to the table and its queues, only the address of the API and the caller's credentials.
 *
 * - `serve-claim.ts`: one run, with the context of its handler;
 * - `held-runs.ts`: heartbeats and ends of all runs, in batches.
 */

import type { Claim } from '../api/runs.ts'
import { type Client, createClient } from '../client/client.ts'
import { newKey } from '../client/new-key.ts'
import { defined } from '../core/defined.ts'
import { BatonError } from '../core/errors.ts'
import type { TaskDefinition } from '../define/define-task.ts'
import { distinctTasks } from '../define/distinct-tasks.ts'
import type { Flow } from '../define/flow/define-flow.ts'
import type { Clock, Log } from '../ports/machine.ts'
import { createHeldRuns } from './held-runs.ts'
import { serveClaim } from './serve-claim.ts'

export type HttpWorkerOptions = {
  /** The tasks to serve. A flow stands for the tasks of its steps. Each type is of kind `http`. */
  readonly tasks: ReadonlyArray<TaskDefinition | Flow>
  /** The client to use, with its signatures and tokens. @default a client of `url` */
  readonly client?: Client
  /** The address of the API. @default `BATON_URL`, else the local system */
  readonly url?: string
  /** How many runs the worker has at a time; 1 or more. @default 10 */
  readonly concurrency?: number
  /** The worker's id, unique among all workers. @default host name, process id and a random part */
  readonly workerId?: string
  /** The worker's version, such as `2.1`. @default none: the worker gets no task with a `minWorkerVersion` */
  readonly version?: string
  /** How long a claim waits for work, in milliseconds; 0–20,000. A stop waits for the claim under way. @default 5,000 */
  readonly waitMs?: number
  /** How long `stop` lets runs finish, in milliseconds. @default 25,000 */
  readonly drainMs?: number
  /** Receives log lines. @default JSON lines on standard output */
  readonly log?: Log
}

/** A process that serves task types over HTTP. */
export type HttpWorker = {
  readonly workerId: string
  /** Begins to claim tasks. @throws BatonError `refused` when the worker was stopped */
  start(): void
  /** How many runs are under way. */
  running(): number
  /**
   * Ends the worker gracefully. It claims no more, lets runs finish for `timeoutMs` milliseconds (default: `drainMs`), and then releases the
   * others, which costs them no retry. Resolves when no run is under way.
   */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>
}

const DEFAULT_CONCURRENCY = 10
const DEFAULT_WAIT_MS = 5_000
const DEFAULT_DRAIN_MS = 25_000
const CLAIM_TYPES_MAX = 20
const CLAIM_TASKS_MAX = 100
const CLAIM_WAIT_MS_MAX = 20_000
/** The time for a claim besides its wait, also for a client whose other calls have less. */
const CLAIM_TIMEOUT_MS = 15_000
/** The pause after a claim that failed. */
const PAUSE_MS = 1_000

/** What an HTTP worker needs of its process. */
export type HttpWorkerMachine = { readonly clock: Clock; readonly log: Log; readonly workerId: string }

export function runHttpWorker(options: HttpWorkerOptions, machine: HttpWorkerMachine): HttpWorker {
  const { concurrency = DEFAULT_CONCURRENCY, waitMs = DEFAULT_WAIT_MS, drainMs = DEFAULT_DRAIN_MS } = options
  const { clock, log, workerId } = machine
  refuseWrong('concurrency', concurrency, 1)
  refuseWrong('waitMs', waitMs, 0, CLAIM_WAIT_MS_MAX)
  refuseWrong('drainMs', drainMs, 0)
  const client = options.client ?? createClient(options.url === undefined ? {} : { url: options.url })
  const definitions = new Map(distinctTasks(options.tasks).map(task => [task.type, task]))
  if (definitions.size === 0) throw new BatonError('invalid', 'a worker needs at least one task to serve')
  const types = [...definitions.keys()]
  const [draining, aborting] = [new AbortController(), new AbortController()]
  const held = createHeldRuns({ client, clock, log })
  const running = new Set<Promise<void>>()
  let changed = Promise.withResolvers<void>()
  let loop: Promise<void> | undefined

  const begin = (claim: Claim) => {
    const definition = definitions.get(claim.task.stepType ?? claim.task.type)
    if (!definition) throw new Error(`claimed ${claim.task.id}, which this worker does not serve`)
    const ran = serveClaim(claim, definition, { client, held, clock, log, aborting: aborting.signal })
      .catch(error => log.error('a run failed in the worker', { taskId: claim.task.id, error }))
      .finally(() => {
        running.delete(ran)
        changed.resolve()
        changed = Promise.withResolvers<void>()
      })
    running.add(ran)
  }

  const claim = repeatedClaims(client, { workerId, workerVersion: options.version })

  const claimOnce = async (some: readonly string[], wait: number) => {
    const limit = Math.min(concurrency - running.size, CLAIM_TASKS_MAX)
    const { claims, retryAfterMs = 0 } = await claim({ types: [...some], limit, waitMs: wait })
    if (draining.signal.aborted) return giveBack(client, claims)
    for (const claim of claims) begin(claim)
    if (retryAfterMs > 0) await clock.sleep(retryAfterMs, draining.signal)
  }

  const claimAll = async () => {
    const chunks = Math.ceil(types.length / CLAIM_TYPES_MAX)
    for (let nth = 0; !draining.signal.aborted; nth = (nth + 1) % chunks) {
      while (running.size >= concurrency && !draining.signal.aborted) await changed.promise
      if (draining.signal.aborted) return
      const some = types.slice(nth * CLAIM_TYPES_MAX, (nth + 1) * CLAIM_TYPES_MAX)
      await claimOnce(some, Math.floor(waitMs / chunks)).catch(async error => {
        log.error('tasks could not be claimed', { types: some, error })
        await clock.sleep(PAUSE_MS, draining.signal)
      })
    }
  }

  return {
    workerId,
    running: () => running.size,
    start: () => {
      if (draining.signal.aborted) throw new BatonError('refused', `worker ${workerId} was stopped`)
      loop ??= claimAll()
    },
    stop: async ({ timeoutMs = drainMs } = {}) => {
      draining.abort()
      changed.resolve()
      const drained = new AbortController()
      const ended = Promise.all([loop, ...running]).finally(() => drained.abort())
      await Promise.race([ended, clock.sleep(timeoutMs, drained.signal)])
      aborting.abort()
      await ended
    },
  }
}

/**
 * Sends claims. A claim whose answer was lost is sent with the same `requestId` at the next turn of its types, and the API answers it with
 * the same claims. So a lost answer costs no retry.
 */
function repeatedClaims(
  client: Client,
  { workerId, workerVersion }: { readonly workerId: string; readonly workerVersion: string | undefined },
) {
  const unanswered = new Map<string, string>()
  return async (request: { readonly types: string[]; readonly limit: number; readonly waitMs: number }) => {
    const name = request.types.join()
    const requestId = unanswered.get(name) ?? newKey()
    unanswered.set(name, requestId)
    const call = { timeoutMs: request.waitMs + CLAIM_TIMEOUT_MS }
    const answer = await client.claim(
      { ...request, workerId, requestId, ...defined({ workerVersion }) },
      call,
    )
    unanswered.delete(name)
    return answer
  }
}

/** Releases what a claim brought after the worker was stopped. */
async function giveBack(client: Client, claims: readonly Claim[]): Promise<void> {
  const runs = claims.map(({ task, run }) => ({
    ...{ taskId: task.id, runId: run.id, fence: run.fence },
    outcome: 'release' as const,
  }))
  if (runs.length > 0) await client.finishMany(runs)
}

function refuseWrong(name: string, value: number, min: number, max = Number.POSITIVE_INFINITY): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  const legal = max === Number.POSITIVE_INFINITY ? `from ${min} up` : `from ${min} to ${max}`
  throw new BatonError('invalid', `${name} is ${value}; give a whole number ${legal}`)
}
