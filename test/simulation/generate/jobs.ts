import type { Act, Callbacks, FlowSetup, Job, Script, TypeSetup } from '../scenario.ts'
import type { Cast } from './cast.ts'
import type { Dice } from './dice.ts'

/** Draws the tasks that callbacks and canvases publish, and what the runs of stages and steps do. */

const STAGES_MAX = 3

/** The callbacks of one task. `depth` says how deep callbacks of callbacks may nest. */
export function callbacks(dice: Dice, cast: Cast, depth = 1): Callbacks {
  const jobs = () => dice.many(1, 2, () => job(dice, cast, depth - 1))
  return {
    ...(dice.odds(0.6) && { onSuccess: jobs() }),
    ...(dice.odds(0.6) && { onError: jobs() }),
  }
}

/** A job of any type. `depth` says how deep its callbacks may nest. */
export function job(dice: Dice, cast: Cast, depth: number): Job {
  const flow = cast.flows.length > 0 && dice.odds(0.3) ? dice.pick(cast.flows) : undefined
  const setup = flow ?? dice.pick(cast.types)
  return {
    type: setup.type,
    nonce: cast.nextNonce(),
    ...(flow ? flowScript(dice, flow) : plainScript(dice, cast, setup as TypeSetup)),
    ...(dice.odds(0.2) && { delayMs: dice.between(1, 4_000) }),
    ...(!flow && dice.odds(0.5) && { isList: true as const }),
    ...(dice.odds(0.15) && { immutable: true as const }),
    ...(depth > 0 && dice.odds(0.3) && callbacks(dice, cast, depth)),
  }
}

type Runs = Pick<Script, 'acts' | 'pieces' | 'padding'> & Pick<Job, 'stage' | 'options'>

function plainScript(dice: Dice, cast: Cast, { servedBy }: TypeSetup): Runs {
  const stages = cast.has.stages && dice.odds(0.4) ? dice.between(1, STAGES_MAX) : 0
  const retries = dice.between(0, 2)
  const concurrency = servedBy === 'lambda' && dice.odds(0.1) ? 2 : 1
  return {
    ...staged(dice, stages, () => acts(dice)),
    options: {
      leaseMs: dice.between(2_000, 8_000),
      heartbeatMs: dice.between(400, 1_000),
      retry: { maxRetries: retries, delayMs: dice.between(50, 1_000) },
      ...(concurrency > 1 && { concurrency }),
    },
    padding: dice.odds(0.3) ? dice.between(100, 600) : 0,
  }
}

/** What the runs of a task with `stages` stages do, and the stage in which it starts. */
export function staged(
  dice: Dice,
  stages: number,
  actsOf: () => Act[],
): Pick<Script, 'acts' | 'pieces'> & Pick<Job, 'stage'> {
  if (stages === 0) return { acts: actsOf() }
  const moving = () => [...actsOf(), { ms: dice.between(1, 500), end: 'next' as const }]
  const pieces = Array.from({ length: stages }, (_, index) => [
    `s${index + 1}`,
    index + 1 < stages ? moving() : actsOf(),
  ])
  return {
    ...(dice.odds(0.5) ? { stage: 's1', acts: [] } : { acts: moving() }),
    pieces: Object.fromEntries(pieces),
  }
}

/** What the runs of each step do, and of each undo. Undos are common, and some of them fail. */
export function flowScript(dice: Dice, { steps }: FlowSetup): Runs {
  const pieces = steps.flatMap(({ name, undo }) => [
    [name, dice.many(0, 3, () => act(dice, DO_ENDS))] as const,
    ...(undo ? [[`undo ${name}`, dice.many(0, 2, () => act(dice, UNDO_ENDS))] as const] : []),
  ])
  return {
    acts: [],
    pieces: Object.fromEntries(pieces),
    padding: dice.odds(0.2) ? dice.between(100, 600) : 0,
  }
}

const DO_ENDS: readonly Act['end'][] = [
  'succeed',
  'succeed',
  'fail',
  'fail',
  'fatal',
  'fatal',
  'later',
  'release',
  'crash',
  'deaf',
  'child',
]
const UNDO_ENDS: readonly Act['end'][] = ['succeed', 'succeed', 'fail', 'fail', 'fatal', 'crash']
const JOB_ENDS: readonly Act['end'][] = ['succeed', 'succeed', 'succeed', 'fail', 'fatal', 'crash', 'deaf']

function acts(dice: Dice): Act[] {
  return dice.many(0, 2, () => act(dice, JOB_ENDS))
}

function act(dice: Dice, ends: readonly Act['end'][]): Act {
  return { end: dice.pick(ends), ms: dice.odds(0.85) ? dice.between(1, 800) : dice.between(800, 10_000) }
}
