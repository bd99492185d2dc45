import type { PartialOptions } from '../../../shared/core/options.ts'
import { hash32 } from '../../../shared/core/values/text.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import type { Scenario, ServedBy, Step, TrialName, TypeSetup, Weather, WorkerSetup } from '../scenario.ts'
import { CALM } from '../scenario.ts'
import { type Cast, FIRST_JOB_NONCE } from './cast.ts'
import { withControl } from './control.ts'
import { createDice, type Dice } from './dice.ts'
import { flowSetups } from './flows.ts'
import { scheduleSteps } from './schedules.ts'
import { generateSteps } from './steps.ts'
import { drawTrial, isTrial, TRIAL_NAMES, trialOf } from './trials/trials.ts'

/**
 * Kinds of scenario that few seeds have: limits, orders and pauses of types (`control`), tasks due further
 * ahead than an SQS delay reaches (`far`), schedules, or a trial.
 */
export type ScenarioKind = 'control' | 'far' | 'schedules' | TrialName

export const SCENARIO_KINDS: readonly ScenarioKind[] = ['control', 'far', 'schedules', ...TRIAL_NAMES]

/**
 * Draws the scenario of a seed. Each seed draws which kinds of misfortune, types, workers and operations it
 * has. So some seeds show a rare pair of them without the other kinds. With `rare` the scenario is of that
 * kind, as far as its number of workers allows.
 *
 * The rest of this room: `steps.ts`, `flows.ts`, `canvases.ts` and `schedules.ts` draw what is done, `jobs.ts`
 * what the tasks do, `control.ts` limits and pauses. `trials` holds kinds of scenario about one thing each.
 */
export function generate(seed: number, rare?: ScenarioKind): Scenario {
  const trial = rare === undefined ? trialOf(seed) : rare
  return withReaders(seed, trial, isTrial(trial) ? drawTrial(trial, seed) : generateUsual(seed, rare))
}

/** The scenario that a seed has as long as no trial takes it. */
export function generateWithoutTrial(seed: number): Scenario {
  return withReaders(seed, undefined, generateUsual(seed, undefined))
}

function withReaders(seed: number, kind: ScenarioKind | undefined, scenario: Scenario): Scenario {
  return isRead(seed, kind) ? { ...scenario, hasReaders: true } : scenario
}

/** The share of the usual scenarios with readers. They are drawn by a chance of their own, so that the scenarios are the same without them. */
const READ = 0.12
/** Every fourth scenario of a rare kind has readers, so that a few seeds of each kind have some. */
const READ_EVERY = 4

function isRead(seed: number, kind: ScenarioKind | undefined): boolean {
  if (kind !== undefined) return (seed + hash32(kind)) % READ_EVERY === 0
  return createSeededChance(hash32(`readers of ${seed}`)).fraction() < READ
}

function generateUsual(seed: number, rare: ScenarioKind | undefined): Scenario {
  const dice = createDice(createSeededChance(seed))
  const drawn = dice.odds(0.1) ? CALM : badWeather(dice)
  const types = typeSetups(dice)
  const workers = types.flatMap(setup => workerSetups(dice, setup))
  const flows = dice.odds(0.3) ? flowSetups(dice, types) : []
  const spanMs = dice.between(5_000, 40_000)
  const mayBeLong = workers.length <= LONG_SCENARIO_WORKERS_MAX
  const { isFar, stormMs } = mayBeLong
    ? lengthOf(dice, workers, rare)
    : { isFar: false, stormMs: usualStormMs(dice) }
  const weather =
    drawn !== CALM && stormMs > LONG_STORM_MS
      ? { ...drawn, messageLost: Math.min(drawn.messageLost, MILD_LOSS) }
      : drawn
  const scenario: Scenario = {
    seed,
    weather,
    calmAt: spanMs + stormMs,
    types,
    flows,
    workers,
    afterwardsMs: mayBeLong && dice.odds(0.04) ? AFTERWARDS_MS : 0,
    steps: stepsOf(
      dice,
      {
        types,
        flows,
        workers,
        spanMs,
        isCalm: drawn === CALM,
        isFar,
        has: {
          stages: dice.odds(0.2),
          callbacks: dice.odds(0.25),
          canvases: dice.odds(0.25),
          purges: mayBeLong && drawn !== CALM && dice.odds(0.2),
        },
        nextNonce: counting(FIRST_JOB_NONCE),
      },
      rare,
    ),
  }
  return dice.odds(CONTROL) || rare === 'control' ? withControl(dice, scenario) : scenario
}

const CONTROL = 0.2

/**
 * The steps of the scenario. Few scenarios have schedules, because these tick through the storm and some
 * minutes longer.
 */
function stepsOf(dice: Dice, cast: Cast, rare: ScenarioKind | undefined): Step[] {
  const steps = generateSteps(dice, cast)
  const mayTick = cast.workers.length <= SCHEDULES_WORKERS_MAX
  const schedules = mayTick && (dice.odds(SCHEDULES) || rare === 'schedules') ? scheduleSteps(dice, cast) : []
  return [...steps, ...schedules].sort((a, b) => a.at - b.at)
}

const SCHEDULES = 0.3
const SCHEDULES_WORKERS_MAX = 1

/**
 * Whether the scenario has far tasks, and how long its storm lasts. A scenario without workers may be long:
 * nothing polls, so virtual time passes quickly.
 */
function lengthOf(
  dice: Dice,
  workers: readonly WorkerSetup[],
  rare: ScenarioKind | undefined,
): { isFar: boolean; stormMs: number } {
  const odds = workers.length === 0 ? { far: 0.15, farStorm: 0.3 } : { far: 0.04, farStorm: 0.7 }
  const isFar = dice.odds(odds.far) || rare === 'far'
  return { isFar, stormMs: isFar && dice.odds(odds.farStorm) ? FAR_STORM_MS : usualStormMs(dice) }
}

function counting(from: number): () => number {
  let next = from
  return () => {
    next += 1
    return next
  }
}

/**
 * The most workers of a long scenario. Each worker polls, so that a long scenario with many takes as much time
 * as a hundred others.
 */
const LONG_SCENARIO_WORKERS_MAX = 1

/** How long the run continues after every task is over: longer than any message can be delayed. */
const AFTERWARDS_MS = 20 * 60_000

/** The length of a storm that ends after the last far task is due. */
const FAR_STORM_MS = 1_600_000
/**
 * In a storm that is longer than this, at most `MILD_LOSS` of all messages are lost. If half of them were
 * lost for longer, the sweeper would take its own messages for delivered and send ever more rarely. No real
 * queue loses so many.
 */
const LONG_STORM_MS = 60_000
const MILD_LOSS = 0.05

const SERVED_BY: readonly ServedBy[] = ['lambda', 'workers', 'http']

function typeSetups(dice: Dice): TypeSetup[] {
  const drawn = dice.some(SERVED_BY, 0.5)
  const servers = drawn.length > 0 ? drawn : [dice.pick(SERVED_BY)]
  return servers.map(servedBy => ({
    type: `by-${servedBy}`,
    servedBy,
    defaults: defaultsOf(dice),
    shards: dice.between(1, 3),
  }))
}

function defaultsOf(dice: Dice): PartialOptions {
  return dice.odds(0.5) ? {} : { leaseMs: dice.between(2_000, 10_000), heartbeatMs: dice.between(400, 1_500) }
}

/**
 * The workers of a type. A Lambda needs none. The first worker has the highest version, so that every task has
 * a worker that may take it.
 */
function workerSetups(dice: Dice, { type, servedBy }: TypeSetup): WorkerSetup[] {
  if (servedBy === 'lambda') return []
  return dice.many(1, 3, index => ({
    kind: servedBy === 'http' ? 'http' : 'standalone',
    workerId: `${servedBy === 'http' ? 'h' : 'w'}${index + 1}`,
    types: [type],
    concurrency: dice.between(1, 4),
    ...((index === 0 || dice.odds(0.3)) && { version: index === 0 ? '2.0' : '1.5' }),
    startsAt: dice.odds(0.8) ? 0 : dice.between(0, 20_000),
  }))
}

/** The length of a storm. Most storms are short; some last for several rounds of the sweeper. */
function usualStormMs(dice: Dice): number {
  return dice.odds(0.93) ? dice.between(5_000, 30_000) : dice.between(120_000, 300_000)
}

/** Bad weather. Each kind of misfortune is present in half of the seeds, and mild in most of those. */
function badWeather(dice: Dice): Weather {
  const share = (mild: number, wild: number) => (dice.odds(0.5) ? 0 : dice.odds(0.8) ? mild : wild)
  return {
    refused: share(0.02, 0.2),
    answerLost: share(0.02, 0.15),
    slow: share(0.02, 0.2),
    death: share(0.002, 0.02),
    freeze: share(0.001, 0.01),
    messageLost: share(0.05, 0.5),
    messageDoubled: share(0.1, 0.6),
    messageLate: share(0.1, 0.6),
    streamGap: share(0.05, 0.3),
    streamLate: share(0.1, 0.5),
    streamAgain: share(0.1, 0.5),
    staleIndex: share(0.2, 0.8),
    scheduleOff: share(0.2, 0.8),
    skewMs: share(500, 2_000),
    stepMs: 0,
  }
}
