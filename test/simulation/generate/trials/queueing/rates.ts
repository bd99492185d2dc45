import type { PartialOptions } from '../../../../../shared/core/options.ts'
import type { RateLimit } from '../../../../../shared/core/types/task-type.ts'
import { type Act, CALM, type ServedBy, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A concurrency limit that holds no task back, because runs are short. A change of it must not delay starts. */
const WIDE = { least: 5, most: 9 } as const
const TENANTS = ['t1', 't2', 't3'] as const

/**
 * A rate limit holds back more tasks than may start, over many of its periods. Meanwhile tasks are cancelled and
 * patched, expire, or are more urgent than others, and the type gets other limits, another order or tenants.
 */
export const rates: Trial = (dice, seed) => {
  const line = aLine(dice)
  const type = aType(line.servedBy, {
    shards: dice.between(1, 2),
    limits: { rate: line.rate, concurrency: { max: WIDE.least } },
    ...(dice.odds(0.4) && { ordering: 'priority' as const }),
  })
  const { endsAt, isDisturbed, rate } = line
  return aScenario(seed, {
    trial: 'rates',
    ...(isDisturbed && { weather: { ...CALM, messageLost: 0.004, streamGap: 0.002, death: 0.0002 } }),
    calmAt: endsAt,
    settlingMs: 2 * HOUR_MS + endsAt + MOST_PERIODS_BEHIND * rate.perMs,
    types: [type],
    workers: workersOf(type, 2, 4),
    steps: stepsOf(dice, type, line).sort((a, b) => a.at - b.at),
  })
}

/** What the trial is about: one limit, and how long its tasks wait. */
type LongLine = {
  readonly servedBy: ServedBy
  readonly rate: RateLimit
  /** The end of the publishes, and of the disturbances. */
  readonly endsAt: number
  /** Whether messages are lost and processes die. */
  readonly isDisturbed: boolean
}

function aLine(dice: Dice): LongLine {
  if (dice.odds(0.2)) return disturbedLine(dice)
  const unit = dice.pick(['seconds', 'minutes', 'minutes', 'minutes', 'hours'] as const)
  const perMs = PERIODS[unit](dice)
  const limit = dice.between(1, unit === 'hours' ? 2 : 4)
  return {
    // Workers poll. Over hours that would take too much time.
    servedBy: unit === 'seconds' ? dice.pick(['lambda', 'workers', 'http'] as const) : 'lambda',
    rate: { limit, perMs },
    endsAt: dice.between(14, 24) * perMs,
    isDisturbed: false,
  }
}

const PERIODS: Readonly<Record<'seconds' | 'minutes' | 'hours', (dice: Dice) => number>> = {
  seconds: dice => dice.between(3, 15) * SECOND_MS,
  minutes: dice => dice.pick([1, 1, 2, 5]) * MINUTE_MS,
  hours: () => HOUR_MS,
}

/** The span of a hundred periods leaves time for two or three repairs of lost messages, which may take two minutes each. */
function disturbedLine(dice: Dice): LongLine {
  const perMs = dice.between(25, 40) * SECOND_MS
  return {
    servedBy: dice.pick(['lambda', 'lambda', 'workers'] as const),
    rate: { limit: dice.between(1, 2), perMs },
    endsAt: 125 * perMs,
    isDisturbed: true,
  }
}

/** Even without deadlines at most this many periods' tasks are left when the publishes end. */
const MOST_PERIODS_BEHIND = 40

function stepsOf(dice: Dice, type: TypeSetup, line: LongLine): Step[] {
  const plain = publishes(dice, type, line)
  const published = dice.odds(0.3) ? withTenants(dice, plain, line) : plain
  const mischief = dice.some([cancels, patches, otherSettings, urgent], 0.4)
  return [...published, ...mischief.flatMap(change => change(dice, { type, published, ...line }))]
}

type Publish = Extract<Step, { readonly do: 'publish' }>
type Publishes = LongLine & { readonly type: TypeSetup; readonly published: readonly Publish[] }

/** More publishes than may start. Some lines grow from the start, others are long from the start. */
function publishes(dice: Dice, { type }: TypeSetup, { rate, endsAt }: LongLine): Publish[] {
  const everyMs = rate.perMs / rate.limit / dice.pick([1.1, 1.3, 2])
  const first = dice.pick([0, 3, 10]) * rate.limit
  const options = someDeadline(dice, rate)
  const acts: Act[] = [{ ms: dice.between(10, 400), end: 'succeed' }]
  return Array.from({ length: first + Math.floor(endsAt / everyMs) }, (_, nonce) => ({
    do: 'publish' as const,
    at: 500 + (nonce < first ? 20 * nonce : Math.floor((nonce - first) * everyMs)),
    nonce,
    request: { type, key: `k${nonce}`, ...(options && { options }) },
    acts,
    padding: 0,
  }))
}

function someDeadline(dice: Dice, { perMs }: RateLimit): PartialOptions | undefined {
  return dice.odds(0.4) ? { deadlineMs: dice.between(2, 10) * perMs } : undefined
}

/** From some time on the publishes name tenants. The first one gives all waiting tasks another order. */
function withTenants(dice: Dice, published: readonly Publish[], { endsAt }: LongLine): Publish[] {
  const from = dice.between(Math.floor(endsAt / 10), Math.floor(endsAt / 3))
  return published.map(step =>
    step.at > from && dice.odds(0.5)
      ? { ...step, request: { ...step.request, fairnessKey: dice.pick(TENANTS) } }
      : step,
  )
}

/** Many of the waiting tasks are cancelled at once. */
function cancels(dice: Dice, { published, endsAt }: Publishes): Step[] {
  const at = dice.between(Math.floor(endsAt / 8), Math.floor(endsAt / 2))
  return published
    .filter(step => step.at < at && dice.odds(0.6))
    .map((step, nth) => ({ do: 'cancel', at: at + nth, id: idOf(step) }))
}

/** Some tasks are patched several times in each period. */
function patches(dice: Dice, { published, rate }: Publishes): Step[] {
  return published
    .filter(() => dice.odds(0.2))
    .flatMap(step =>
      dice.many(1, 12, nth => ({
        do: 'patch' as const,
        at: step.at + Math.floor(((nth + 1) * rate.perMs) / 4),
        id: idOf(step),
        changes: { options: { retry: { maxRetries: nth } } },
      })),
    )
}

/** The type is deployed with another limit or another order. */
function otherSettings(dice: Dice, { type, rate, endsAt }: Publishes): Step[] {
  const { servedBy, ...content } = type
  return dice.many(1, 2, nth => {
    const concurrency = { max: dice.between(WIDE.least + 1, WIDE.most) }
    const other = { limit: dice.between(1, 4), perMs: rate.perMs }
    const limits = dice.odds(0.4) ? content.limits : { rate: dice.odds(0.3) ? other : rate, concurrency }
    return {
      do: 'deploy' as const,
      at: dice.between(Math.floor(((nth + 1) * endsAt) / 8), Math.floor(((nth + 1) * endsAt) / 3)),
      ...content,
      kind: servedBy === 'http' ? ('http' as const) : ('handler' as const),
      ...(limits && { limits }),
      ...(dice.odds(0.5) && { ordering: dice.pick(['priority', 'arrival'] as const) }),
    }
  })
}

/** For a while a part of what may start is urgent. */
function urgent(dice: Dice, { type, rate, published, endsAt }: Publishes): Step[] {
  const everyMs = (rate.perMs / rate.limit) * dice.between(2, 3)
  const first = published.length
  return Array.from({ length: Math.floor((endsAt * 0.6) / everyMs) }, (_, nth) => ({
    do: 'publish' as const,
    at: 2_000 + Math.floor(nth * everyMs),
    nonce: first + nth,
    request: { type: type.type, key: `urgent${nth}`, priority: 9 },
    acts: [],
    padding: 0,
  }))
}

function idOf({ request }: Publish): string {
  return `${request.type}:${request.key}`
}
