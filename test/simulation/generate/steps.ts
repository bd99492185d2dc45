import type { PartialOptions, Retry } from '../../../shared/core/options.ts'
import type { Status } from '../../../shared/core/task/lifecycle.ts'
import type { PatchRequest } from '../../../shared/runtime/operate/patch-task.ts'
import type { Act, FlowSetup, Step, TypeSetup, WorkerSetup } from '../scenario.ts'
import { canvasSteps } from './canvases.ts'
import type { Cast } from './cast.ts'
import type { Dice } from './dice.ts'
import { ofFlow } from './flows.ts'
import { callbacks, flowScript, staged } from './jobs.ts'

/** The nonce of an input that a patch sets. */
export const PATCHED_NONCE = -1

type Publish = Extract<Step, { readonly do: 'publish' }>

const KEYS = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8']

/** Publishes on a few keys. In most scenarios operators interfere with them. Steps are in order of time. */
export function generateSteps(dice: Dice, cast: Cast): Step[] {
  const keys = KEYS.slice(0, dice.between(2, KEYS.length))
  const publishes = dice.many(3, 12, nonce => publish(dice, cast, keys, nonce))
  const ids = [...new Set(publishes.map(({ request }) => `${request.type}:${request.key}`))]
  const kinds = cast.isCalm ? [] : dice.some([operation, ofWorker, deployment, ofFlow], 0.6)
  const others = kinds.flatMap(kind => dice.many(1, 6, () => kind(dice, cast, ids)).flat())
  const ofCanvases = cast.has.canvases ? canvasSteps(dice, cast) : []
  const purges = cast.has.purges ? dice.many(1, 3, () => purge(dice, cast)) : []
  return [...publishes, ...others, ...ofCanvases, ...purges].sort((a, b) => a.at - b.at)
}

function publish(dice: Dice, cast: Cast, keys: readonly string[], nonce: number): Publish {
  const flow = cast.flows.length > 0 && dice.odds(0.4) ? dice.pick(cast.flows) : undefined
  const { type, ...content } = flow ? flowContent(dice, flow) : plainContent(dice, cast)
  const { stage, options: given, ...script } = content
  return {
    do: 'publish',
    at: dice.between(100, cast.spanMs),
    nonce,
    request: {
      type,
      key: dice.pick(keys),
      ...(stage !== undefined && { stage }),
      ...(dice.odds(0.4) && { delayMs: delay(dice, cast.isFar) }),
      ...(dice.odds(0.3) && { priority: dice.between(-5, 5) }),
      ...(dice.odds(0.2) && { userId: 'u1' }),
      ...(dice.odds(0.4) && { ifExists: dice.pick(['keep', 'update', 'reject', 'restart'] as const) }),
      ...(dice.odds(0.2) && {
        clean: dice.pick([['failed'], ['succeeded'], ['failed', 'succeeded']] as const),
      }),
      options: given,
    },
    ...script,
    ...(cast.has.callbacks && dice.odds(0.5) && callbacks(dice, cast)),
  }
}

type Content = Pick<Publish, 'acts' | 'pieces' | 'padding'> & {
  readonly type: string
  readonly stage?: string
  readonly options: PartialOptions
}

function plainContent(dice: Dice, cast: Cast): Content {
  const setup = dice.pick(cast.types)
  const given = options(dice, cast, setup)
  const stages = cast.has.stages && dice.odds(0.4) ? dice.between(1, 3) : 0
  return {
    type: setup.type,
    options: given,
    ...staged(dice, stages, () => dice.many(0, stages > 0 ? 2 : 4, () => act(dice, given))),
    padding: dice.odds(0.4) ? dice.between(100, 1_000) : 0,
  }
}

/** The content of a flow's publish. Options apply to the flow as a whole. */
function flowContent(dice: Dice, flow: FlowSetup): Content {
  return {
    type: flow.type,
    options: {
      ...(dice.odds(0.1) && { deadlineMs: dice.between(3_000, 40_000) }),
      ...(dice.odds(0.05) && { retentionMs: dice.between(2_000, 20_000) }),
    },
    ...flowScript(dice, flow),
  }
}

function delay(dice: Dice, isFar: boolean): number {
  if (isFar && dice.odds(0.5)) return dice.between(890_000, 1_500_000)
  return dice.odds(0.7) ? dice.between(1, 6_000) : dice.between(6_000, 40_000)
}

/**
 * Options that the scenario's workers can satisfy: enough workers for `concurrency`, and one of the required
 * version.
 */
function options(dice: Dice, cast: Cast, setup: TypeSetup): PartialOptions {
  const workers = cast.workers.filter(({ types }) => types.includes(setup.type))
  const most = setup.servedBy === 'lambda' ? 3 : workers.length
  const concurrency = dice.odds(0.3) ? dice.between(1, most) : 1
  const leaseMs = dice.between(1_500, 12_000)
  return {
    leaseMs,
    heartbeatMs: dice.between(300, Math.floor(leaseMs / 2)),
    ...(concurrency > 1 && { concurrency }),
    ...(workers.length > 0 && dice.odds(0.25) && { workerIds: listed(dice, workers, concurrency) }),
    ...(concurrency === 1 && workers.length > 0 && dice.odds(0.1) && { minWorkerVersion: '2.0' }),
    ...(dice.odds(0.25) && { timeoutMs: dice.between(500, 6_000) }),
    ...(dice.odds(0.15) && { deadlineMs: dice.between(3_000, 40_000) }),
    ...(dice.odds(0.7) && { retry: retry(dice) }),
    ...(dice.odds(0.1) && { retentionMs: dice.between(2_000, 20_000) }),
  }
}

/** Some workers, always with the first one: it has the version that every task accepts. */
function listed(dice: Dice, workers: readonly WorkerSetup[], least: number): string[] {
  const ids = workers.map(({ workerId }) => workerId)
  return ids.filter((_, index) => index < least || dice.odds(0.4))
}

function retry(dice: Dice): Partial<Retry> {
  return {
    maxRetries: dice.between(0, 5),
    backoff: dice.pick(['exponential', 'fixed', 'fibonacci', 'ladder'] as const),
    delayMs: dice.between(50, 2_000),
    delaysMs: LADDER,
    maxDelayMs: dice.between(2_000, 8_000),
    ...(dice.odds(0.3) && { jitter: 0.5 }),
    ...(dice.odds(0.3) && { scope: 'worker' as const }),
    ...(dice.odds(0.1) && { localRetries: 1 }),
  }
}

/** The delays of retries with the backoff `ladder`. The second one may be longer than `maxDelayMs`, which does not bound it. */
const LADDER = [100, 2_900, 300, 900] as const

const ENDS: readonly Act['end'][] = [
  'succeed',
  'succeed',
  'fail',
  'fail',
  'fatal',
  'later',
  'release',
  'crash',
  'deaf',
  'child',
]

/**
 * What one run does. Only a task with a timeout or deadline may hang, because heartbeats keep any other run
 * alive for ever.
 */
function act(dice: Dice, { timeoutMs, deadlineMs }: PartialOptions): Act {
  const isLimited = timeoutMs !== undefined || deadlineMs !== undefined
  const end = isLimited && dice.odds(0.15) ? 'hang' : dice.pick(ENDS)
  return { end, ms: dice.odds(0.7) ? dice.between(1, 800) : dice.between(800, 15_000) }
}

const STATUSES: readonly Status[] = ['delayed', 'ready', 'running', 'succeeded', 'failed', 'cancelled']

/** What an operator does, or a publisher that changes its request. */
function operation(dice: Dice, cast: Cast, ids: readonly string[]): Step[] {
  // Some operations come when most tasks are over: only then can a restart start a task over.
  const at = dice.between(100, cast.spanMs * 2)
  const id = dice.pick(ids)
  switch (dice.pick(['cancel', 'remove', 'restart', 'restart', 'patch', 'patch', 'read', 'list'] as const)) {
    case 'read':
      return [{ at, do: 'read', id }]
    case 'list':
      return [{ at, do: 'list', type: dice.pick(cast.types).type, status: dice.pick(STATUSES) }]
    case 'cancel':
      return [{ at, do: 'cancel', id }]
    case 'remove':
      return [{ at, do: 'remove', id }]
    case 'restart':
      return [
        {
          at,
          do: 'restart',
          id,
          clean: dice.pick([['failed'], ['succeeded'], ['failed', 'succeeded']] as const),
        },
      ]
    case 'patch':
      return [{ at, do: 'patch', id, changes: changes(dice, cast, id) }]
  }
}

/** A purge. Some purges come when most tasks are over. */
function purge(dice: Dice, { types, flows, spanMs }: Cast): Step {
  const { type } = dice.pick([...types, ...flows])
  const drawn = dice.some([...STATUSES, 'compensating' as const], 0.4)
  const at = dice.between(100, spanMs * 1.5)
  return { at, do: 'purge', type, statuses: drawn.length > 0 ? drawn : [dice.pick(STATUSES)] }
}

function changes(dice: Dice, cast: Cast, id: string): PatchRequest {
  if (cast.flows.some(({ type }) => id.startsWith(`${type}:`))) return flowChanges(dice)
  const workers = cast.workers.filter(({ types }) => types.some(type => id.startsWith(`${type}:`)))
  const leaseMs = dice.between(1_500, 12_000)
  const given: PartialOptions = {
    ...(dice.odds(0.4) && { heartbeatMs: dice.between(300, 2_000) }),
    ...(dice.odds(0.4) && { leaseMs }),
    ...(dice.odds(0.2) && { retry: { maxRetries: dice.between(0, 5) } }),
    ...(workers.length > 0 && dice.odds(0.4) && { workerIds: listed(dice, workers, 1) }),
    ...(dice.odds(0.2) && { concurrency: 1 }),
    ...(dice.odds(0.1) && { deadlineMs: dice.between(3_000, 40_000) }),
  }
  return {
    ...(dice.odds(0.3) && { delayMs: dice.between(0, 8_000) }),
    ...(dice.odds(0.2) && { priority: dice.between(-5, 5) }),
    ...(dice.odds(0.2) && {
      input: { nonce: PATCHED_NONCE, acts: [], padding: 'y'.repeat(dice.between(0, 400)) },
    }),
    ...(cast.has.stages && dice.odds(0.4) && { stage: dice.pick(['s1', 's2', 's3']) }),
    options: given,
  }
}

function flowChanges(dice: Dice): PatchRequest {
  return {
    ...(dice.odds(0.4) && { delayMs: dice.between(0, 8_000) }),
    ...(dice.odds(0.3) && { priority: dice.between(-5, 5) }),
    ...(dice.odds(0.3) && { options: { deadlineMs: dice.between(3_000, 40_000) } }),
  }
}

/** A worker is stopped, killed, frozen or resized. */
function ofWorker(dice: Dice, cast: Cast): Step[] {
  if (cast.workers.length === 0) return []
  const { workerId } = dice.pick(cast.workers)
  const at = dice.between(100, cast.spanMs)
  const backAfterMs = dice.between(100, 20_000)
  switch (dice.pick(['kill', 'stop', 'freeze', 'resize'] as const)) {
    case 'kill':
      return [{ at, do: 'kill-worker', workerId, backAfterMs }]
    case 'stop':
      return [{ at, do: 'stop-worker', workerId, drainMs: dice.between(0, 5_000), backAfterMs }]
    case 'freeze':
      return [{ at, do: 'freeze-worker', workerId, forMs: dice.between(100, 30_000) }]
    case 'resize':
      return [{ at, do: 'resize-worker', workerId, concurrency: dice.between(1, 5) }]
  }
}

/** A type's handler is deployed again, or withdrawn for a while. */
function deployment(dice: Dice, cast: Cast): Step[] {
  const { type, servedBy } = dice.pick(cast.types)
  const at = dice.between(100, cast.spanMs)
  if (servedBy !== 'http' && dice.odds(0.4))
    return [{ at, do: 'withdraw', type, forMs: dice.between(500, 20_000) }]
  const defaults = { leaseMs: dice.between(2_000, 10_000), heartbeatMs: dice.between(400, 1_500) }
  return [
    {
      at,
      do: 'deploy',
      type,
      kind: servedBy === 'http' ? 'http' : 'handler',
      defaults,
      shards: dice.between(1, 4),
    },
  ]
}
