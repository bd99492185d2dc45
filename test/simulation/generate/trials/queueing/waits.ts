import type { PatchRequest } from '../../../../../shared/runtime/operate/patch-task.ts'
import type { Act, FlowSetup, Scenario, ServedBy, Step, TypeSetup, WorkerSetup } from '../../../scenario.ts'
import { CALM } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { PATCHED_NONCE } from '../../steps.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 30_000
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000]

/** Tasks that wait for one reason, with the type, the workers and the steps that this takes. */
type Wait = Partial<Pick<Scenario, 'types' | 'flows' | 'workers' | 'steps'>>

/** Tasks wait for many reasons at once, and callers ask why. */
export const waits: Trial = (dice, seed) => {
  const drawn = dice.some(WAITS, 0.4).map((wait, nth) => wait(dice, nth))
  const all = drawn.length > 0 ? drawn : [behindPermits(dice, 0)]
  return aScenario(seed, {
    trial: 'waits',
    weather: { ...CALM },
    calmAt: SPAN_MS,
    types: all.flatMap(({ types = [] }) => types),
    flows: all.flatMap(({ flows = [] }) => flows),
    workers: all.flatMap(({ workers = [] }) => workers),
    steps: all
      .flatMap(({ steps = [] }) => steps)
      .map((step, nonce) => ('nonce' in step ? { ...step, nonce } : step))
      .sort((a, b) => a.at - b.at),
    hasReaders: true,
  })
}

const WAITS: ReadonlyArray<(dice: Dice, nth: number) => Wait> = [
  behindPermits,
  behindRate,
  farAhead,
  forListedWorkers,
  forVersions,
  whilePaused,
  afterCrashes,
  withoutHandler,
  patched,
]

/** Many holders of permits, so that a sentence does not name them all. */
function behindPermits(dice: Dice, nth: number): Wait {
  const max = dice.between(1, 6)
  const key = dice.odds(0.5) ? { key: 'userId' } : {}
  const type = aTypeOf(dice, nth, ['lambda', 'http'], { limits: { concurrency: { max, ...key } } })
  const count = max + dice.between(1, 6)
  return {
    types: [type],
    workers: named(nth, workersOf(type, 2, 8)),
    steps: publishes(dice, type, count, () => [{ ms: dice.between(3_000, 12_000), end: 'succeed' }]),
  }
}

function behindRate(dice: Dice, nth: number): Wait {
  const key = dice.odds(0.5) ? { key: 'userId' } : {}
  const rate = { limit: dice.between(1, 2), perMs: dice.between(4_000, 12_000), ...key }
  const type = aTypeOf(dice, nth, ['lambda', 'workers', 'http'], { limits: { rate } })
  return {
    types: [type],
    workers: named(nth, workersOf(type, 1, 2)),
    steps: publishes(dice, type, dice.between(3, 6), () => []),
  }
}

/** Tasks that are due in hours or days, until an operator cancels them. */
function farAhead(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['lambda'])
  const published = publishes(
    dice,
    type,
    3,
    () => [],
    () => ({
      delayMs: dice.pick([
        dice.between(1, 90) * 60_000,
        dice.between(2, 47) * HOUR_MS,
        dice.between(2, 9) * DAY_MS,
      ]),
    }),
  )
  return {
    types: [type],
    steps: [
      ...published,
      ...published.map(step => ({ at: SPAN_MS - 1_000, do: 'cancel' as const, id: idOf(step) })),
    ],
  }
}

/** Workers that tasks list come late, so that first they are offline, and then awaited. */
function forListedWorkers(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['workers', 'http'])
  const workers = named(nth, workersOf(type, 5, 1)).map((worker, index) => ({
    ...worker,
    startsAt: index === 0 ? 0 : dice.between(8_000, 20_000),
  }))
  const ids = workers.map(({ workerId }) => workerId)
  return {
    types: [type],
    workers,
    steps: publishes(
      dice,
      type,
      4,
      () => [{ ms: dice.between(100, 2_000), end: dice.pick(['succeed', 'fail']) }],
      () => ({
        options: {
          workerIds: dice.odds(0.3) ? ids : ids.slice(dice.between(0, 3)),
          concurrency: dice.between(1, 2),
          leaseMs: 4_000,
          heartbeatMs: 1_000,
          retry: {
            maxRetries: dice.between(1, 2),
            delayMs: 2_000,
            scope: dice.pick(['task', 'worker'] as const),
          },
        },
      }),
    ),
  }
}

/** Versions with different numbers of parts. The newest worker comes last. */
function forVersions(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['workers', 'http'])
  const versions = ['2', '2.0', '2.0.1', '2.1']
  const workers = named(nth, workersOf(type, versions.length, 2)).map((worker, index) => ({
    ...worker,
    version: versions[index] ?? '2',
    startsAt: index * dice.between(2_000, 4_000),
  }))
  return {
    types: [type],
    workers,
    steps: publishes(
      dice,
      type,
      5,
      () => [],
      () => ({
        options: { minWorkerVersion: dice.pick(['2', '2.0', '2.0.0', '2.0.1', '2.0.0.1', '2.1.0']) },
      }),
    ),
  }
}

function whilePaused(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['lambda', 'workers', 'http'])
  const flow: FlowSetup = {
    type: `flow-${nth}`,
    steps: [
      { name: 'one', do: { type: type.type } },
      { name: 'two', do: { type: type.type } },
    ],
    onCancel: 'undo',
    defaults: {},
    shards: 1,
  }
  const paused = dice.pick([type.type, type.type, flow.type])
  const at = dice.between(1_000, 8_000)
  return {
    types: [type],
    flows: [flow],
    workers: named(nth, workersOf(type, 1, 2)),
    steps: [
      ...publishes(dice, type, 3, () => []),
      ...publishes(dice, { ...type, type: flow.type }, 2, () => []),
      { at, do: 'pause-type', type: paused },
      { at: at + dice.between(5_000, 15_000), do: 'resume-type', type: paused },
    ],
  }
}

function afterCrashes(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['lambda', 'http'])
  return {
    types: [type],
    workers: named(nth, workersOf(type, 1, 2)),
    steps: publishes(
      dice,
      type,
      3,
      () =>
        dice.many(
          1,
          3,
          (): Act => ({ ms: dice.between(1, 300), end: dice.pick(['crash', 'fail', 'release']) }),
        ),
      () => ({
        options: {
          leaseMs: 2_000,
          heartbeatMs: 500,
          retry: { maxRetries: dice.between(1, 4), delayMs: dice.between(1_000, 5_000) },
        },
      }),
    ),
  }
}

function withoutHandler(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['lambda', 'workers'])
  const at = dice.between(500, 5_000)
  return {
    types: [type],
    workers: named(nth, workersOf(type, 1, 2)),
    steps: [
      ...publishes(dice, type, 3, () => []),
      { at, do: 'withdraw', type: type.type, forMs: dice.between(5_000, 15_000) },
    ],
  }
}

/** Operators change tasks while these wait or run. */
function patched(dice: Dice, nth: number): Wait {
  const type = aTypeOf(dice, nth, ['lambda', 'workers', 'http'])
  const options = { leaseMs: 4_000, heartbeatMs: 700, retry: { maxRetries: 1, delayMs: 3_000 } }
  const published = publishes(
    dice,
    type,
    5,
    () => [{ ms: dice.between(2_000, 8_000), end: dice.pick(['succeed', 'fail']) }],
    () => ({ options, ...(dice.odds(0.6) && { delayMs: dice.between(2_000, 12_000) }) }),
  )
  const patches = published.flatMap(step =>
    dice.many(1, 3, () => ({
      at: step.at + dice.between(100, 10_000),
      do: 'patch' as const,
      id: idOf(step),
      changes: changes(dice),
    })),
  )
  return { types: [type], workers: named(nth, workersOf(type, 2, 2)), steps: [...published, ...patches] }
}

function changes(dice: Dice): PatchRequest {
  return dice.pick<() => PatchRequest>([
    () => ({ delayMs: dice.pick([0, 0, 4_000]) }),
    () => ({ priority: dice.between(-3, 3) }),
    () => ({ input: { nonce: PATCHED_NONCE, acts: [], padding: 'y'.repeat(dice.between(0, 600)) } }),
    () => ({ options: { leaseMs: dice.between(2_000, 9_000) } }),
    () => ({ options: { retry: { maxRetries: dice.between(0, 3) } } }),
    () => ({ tags: dice.odds(0.5) ? null : { patched: 'yes' } }),
  ])()
}

function aTypeOf(
  dice: Dice,
  nth: number,
  servedBy: readonly ServedBy[],
  given: Partial<TypeSetup> = {},
): TypeSetup {
  const type = aType(dice.pick(servedBy), given)
  return { ...type, type: `${type.type}-${nth}` }
}

/** Workers of several types in one scenario need names of their own. */
function named(nth: number, workers: readonly WorkerSetup[]): WorkerSetup[] {
  return workers.map(worker => ({ ...worker, workerId: `${worker.workerId}-${nth}` }))
}

type Publish = Extract<Step, { readonly do: 'publish' }>

function publishes(
  dice: Dice,
  { type }: TypeSetup,
  count: number,
  acts: () => Act[],
  more: () => Partial<Publish['request']> = () => ({}),
): Publish[] {
  return Array.from({ length: count }, (_, nth) => ({
    do: 'publish',
    at: dice.between(100, 10_000),
    nonce: nth,
    request: { type, key: `k${nth}`, ...(dice.odds(0.7) && { userId: dice.pick(['u1', 'u2']) }), ...more() },
    acts: acts(),
    padding: 0,
  }))
}

function idOf({ request: { type, key } }: Publish): string {
  return `${type}:${key}`
}
