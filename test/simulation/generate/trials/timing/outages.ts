import type { Outage, Service, Step, TypeSetup } from '../../../scenario.ts'
import type { Cast } from '../../cast.ts'
import type { Dice } from '../../dice.ts'
import { scheduleSteps } from '../../schedules.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SERVICES: readonly Service[] = ['table', 'queues', 'scheduler', 'functions']
const SPAN_MS = 60_000
const FAR = { least: 905_000, most: 1_300_000 } as const
/** Larger than the nonces of publishes. */
const SCHEDULED_NONCE = 1_000

/** One service is out, for seconds or for many minutes, once or twice. */
export const outage: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'lambda', 'workers', 'http'] as const), {
    shards: dice.between(1, 2),
    // Some leases last longer than some outages.
    defaults: dice.odds(0.6) ? { leaseMs: 60_000 } : {},
  })
  const outages = dice.many(1, 2, () => anOutage(dice, dice.pick(SERVICES)))
  const workers = workersOf(type, 1, 4)
  return aScenario(seed, {
    trial: 'outage',
    calmAt: endOf(outages),
    outages,
    types: [type],
    workers,
    steps: [...publishes(dice, type, 12), ...(dice.odds(0.3) ? schedules(dice, type) : [])].sort(
      (a, b) => a.at - b.at,
    ),
  })
}

/**
 * EventBridge Scheduler is out while tasks are published. Most of them are due at once, some further ahead
 * than an SQS delay reaches (15 minutes).
 */
export const schedulerOutage: Trial = (dice, seed) => {
  const type = aType('lambda', { shards: dice.between(1, 2) })
  const outages: Outage[] = [{ service: 'scheduler', from: 0, ms: dice.between(60_000, 600_000) }]
  return aScenario(seed, {
    trial: 'scheduler-outage',
    calmAt: endOf(outages),
    outages,
    types: [type],
    steps: bursts(dice, type),
  })
}

function anOutage(dice: Dice, service: Service): Outage {
  const ms = dice.odds(0.6) ? dice.between(2_000, 60_000) : dice.between(60_000, 1_200_000)
  return { service, from: dice.between(0, SPAN_MS), ms }
}

function endOf(outages: readonly Outage[]): number {
  return Math.max(SPAN_MS, ...outages.map(({ from, ms }) => from + ms + 1_000))
}

function publishes(dice: Dice, { type }: TypeSetup, most: number): Step[] {
  return dice.many(4, most, nonce => ({
    do: 'publish',
    at: dice.between(100, SPAN_MS / 2),
    nonce,
    request: { type, key: `k${nonce}`, delayMs: delayMs(dice) },
    acts: dice.odds(0.8) ? [{ ms: dice.between(1, 40_000), end: dice.odds(0.8) ? 'succeed' : 'fail' }] : [],
    padding: dice.odds(0.3) ? 300 : 0,
  }))
}

function delayMs(dice: Dice): number {
  if (dice.odds(0.25)) return dice.between(FAR.least, FAR.most)
  return dice.odds(0.5) ? 0 : dice.between(1, SPAN_MS)
}

/** Tasks that are published so quickly that one batch of the stream holds several of them. */
function bursts(dice: Dice, { type }: TypeSetup): Step[] {
  const starts = dice.many(1, 3, () => dice.between(1_000, SPAN_MS))
  return starts
    .sort((a, b) => a - b)
    .flatMap((start, nth) =>
      dice.many(15, 40, index => ({
        do: 'publish' as const,
        at: start + index,
        nonce: 100 * nth + index,
        request: {
          type,
          key: `k${nth}-${index}`,
          ...(dice.odds(0.15) && { delayMs: dice.between(FAR.least, FAR.most) }),
        },
        acts: [],
        padding: 0,
      })),
    )
}

function schedules(dice: Dice, type: TypeSetup): Step[] {
  let nonce = SCHEDULED_NONCE
  const cast: Cast = {
    types: [type],
    flows: [],
    workers: workersOf(type, 1),
    spanMs: SPAN_MS,
    isFar: false,
    isCalm: true,
    has: { stages: false, callbacks: false, canvases: false, purges: false },
    nextNonce: () => {
      nonce += 1
      return nonce
    },
  }
  return scheduleSteps(dice, cast)
}
