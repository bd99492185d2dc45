import { type Act, CALM, type Scenario, type Step } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 25_000

/** Tasks whose runs end or are changed in one way, and what this takes. */
type Group = Pick<Scenario, 'types' | 'workers' | 'steps'>
type Publish = Extract<Step, { readonly do: 'publish' }>

/** Tasks wait after runs that crashed, were given back, or ended for another stage, and near their deadlines. Callers ask about them. */
export const afterRuns: Trial = (dice, seed) => {
  const { types, workers, steps } = dice.pick([
    crashesInLine,
    crashesOfPairs,
    givenBack,
    otherStages,
    patchedInPause,
    slotsAndDeadlines,
  ])(dice)
  return aScenario(seed, {
    trial: 'after-runs',
    weather: { ...CALM },
    calmAt: SPAN_MS,
    types,
    workers,
    steps: steps
      .map((step, nonce) => ('nonce' in step ? { ...step, nonce } : step))
      .sort((a, b) => a.at - b.at),
    hasReaders: true,
  })
}

/** A handler crashes, and its task is ready again behind others. */
function crashesInLine(dice: Dice): Group {
  const type = aType('http')
  const tasks = publishes(dice, type.type, dice.between(4, 7), () => ({
    acts: dice.many(
      1,
      3,
      (): Act => ({ ms: dice.between(100, 900), end: dice.pick(['crash', 'crash', 'fail']) }),
    ),
    options: { leaseMs: 1_500, heartbeatMs: 400, retry: { maxRetries: 3, delayMs: dice.between(1, 100) } },
  }))
  return { types: [type], workers: workersOf(type, 1, dice.between(1, 2)), steps: tasks }
}

/** One of two runs is lost, which may end the other one, too. */
function crashesOfPairs(dice: Dice): Group {
  const type = aType(dice.pick(['lambda', 'workers'] as const))
  const tasks = publishes(dice, type.type, dice.between(2, 4), () => ({
    acts: [
      { ms: dice.between(1, 400), end: dice.pick(['crash', 'crash', 'fatal'] as const) },
      { ms: dice.between(5_000, 9_000), end: 'succeed' },
    ],
    options: { concurrency: 2, leaseMs: 2_000, heartbeatMs: 500, retry: { maxRetries: dice.between(0, 1) } },
  }))
  return { types: [type], workers: workersOf(type, 3, 4), steps: tasks }
}

/** Handlers give tasks back for a while, and operators change these tasks meanwhile. */
function givenBack(dice: Dice): Group {
  const type = aType(dice.pick(['lambda', 'workers'] as const))
  const tasks = publishes(dice, type.type, dice.between(3, 5), () => ({
    acts: dice.many(1, 3, (): Act => {
      const laterMs = dice.between(1_000, 6_000)
      return { ms: dice.between(1, 300), end: dice.pick(['release', 'release', 'later', 'fail']), laterMs }
    }),
    options: { retry: { maxRetries: 4, delayMs: 3_000 } },
  }))
  const patches = tasks.map(task => patch(task, dice.between(300, 6_000), { priority: dice.between(-3, 3) }))
  return { types: [type], workers: workersOf(type, 1, 4), steps: [...tasks, ...patches] }
}

/** Tasks with stages are updated, or moved to another stage, while they wait for a retry. */
function otherStages(dice: Dice): Group {
  const type = aType(dice.pick(['lambda', 'http'] as const))
  const tasks = publishes(dice, type.type, dice.between(3, 6), () => ({
    stage: 's1',
    acts: dice.many(0, 2, (): Act => ({ ms: dice.between(1, 300), end: 'fail' })),
    options: { retry: { maxRetries: 3, backoff: 'fixed', delayMs: dice.between(3_000, 9_000) } },
    ...(dice.odds(0.3) && { delayMs: dice.between(1_000, 6_000) }),
  }))
  const changes = tasks.map((task): Step => {
    const stage = dice.pick(['s1', 's2', undefined])
    if (dice.odds(0.5)) return patch(task, dice.between(400, 5_000), { stage: stage ?? 's3' })
    const { stage: _stage, ...request } = task.request
    const update = { ...request, ...(stage !== undefined && { stage }), ifExists: 'update' as const }
    return { ...task, at: task.at + dice.between(400, 5_000), request: update }
  })
  return { types: [type], workers: workersOf(type, 1, 3), steps: [...tasks, ...changes] }
}

/** Operators change tasks of a paused type, which stay as ready as they were. */
function patchedInPause(dice: Dice): Group {
  const type = aType(dice.pick(['lambda', 'http'] as const))
  const tasks = publishes(dice, type.type, dice.between(3, 5), () => ({ acts: [] }))
  const patches = tasks.flatMap(task =>
    dice.many(1, 2, () => patch(task, dice.between(200, 6_000), { priority: dice.between(-3, 3) })),
  )
  const pause: Step = { at: 1_000, do: 'pause-type', type: type.type }
  const resume: Step = { at: dice.between(15_000, SPAN_MS), do: 'resume-type', type: type.type }
  return {
    types: [type],
    workers: workersOf(type, 1, 2),
    steps: [pause, ...tasks.map(task => ({ ...task, at: task.at + 1_500 })), ...patches, resume],
  }
}

/** A worker holds a slot that lies after the deadline of its task. */
function slotsAndDeadlines(dice: Dice): Group {
  const rate = { limit: dice.between(1, 2), perMs: dice.between(2_000, 5_000) }
  const type = aType(dice.pick(['lambda', 'workers'] as const), { limits: { rate } })
  const tasks = publishes(dice, type.type, dice.between(5, 8), () => ({
    acts: [],
    options: { deadlineMs: dice.between(2_000, 12_000) },
  }))
  const together = tasks.map(task => ({ ...task, at: 1_000 + Math.round(task.at / 10) }))
  return { types: [type], workers: workersOf(type, 1, 8), steps: together }
}

function patch({ at, request: { type, key } }: Publish, afterMs: number, changes: object): Step {
  return { at: at + 1_500 + afterMs, do: 'patch', id: `${type}:${key}`, changes }
}

function publishes(
  dice: Dice,
  type: string,
  count: number,
  content: () => Partial<Publish['request']> & Pick<Publish, 'acts'>,
): Publish[] {
  return Array.from({ length: count }, (_, nth) => {
    const { acts, ...more } = content()
    return {
      do: 'publish',
      at: dice.between(100, 8_000),
      nonce: nth,
      request: { type, key: `k${nth}`, ...more },
      acts: more.stage === undefined ? acts : [],
      ...(more.stage !== undefined && { pieces: { s1: acts } }),
      padding: 0,
    }
  })
}
