import { callbacksIn, jobsIn } from '../jobs-in.ts'
import { CALM, type FlowSetup, type Job, type Scenario, type Step, type Weather } from '../scenario.ts'
import type { Verdict } from '../simulate/judge.ts'
import type { Played } from '../simulate/simulate.ts'

export type Play = (scenario: Scenario) => Promise<Pick<Played, 'broken' | 'events'>>

/** The bounds of a shrink. They count plays and events, not time, so that a shrink is repeatable. */
type Bounds = { readonly plays: number; readonly events: number }

const BOUNDS: Bounds = { plays: 400, events: 6_000_000 }

/** The precision to which the shrink finds `calmAt`. */
const CALM_STEP_MS = 1_000

/** Whether a smaller scenario still breaks the same invariant. If so, the shrink continues with it. */
type Keep = (smaller: Scenario) => Promise<boolean>

type Pass = (scenario: Scenario, keep: Keep) => Promise<Scenario>

/** Removes part after part of a scenario as long as the same invariant stays broken. */
export async function shrink(
  scenario: Scenario,
  { invariant }: Verdict,
  play: Play,
  bounds: Bounds = BOUNDS,
): Promise<Scenario> {
  const tried = new Set([JSON.stringify(scenario)])
  let plays = 0
  let events = 0
  const keep: Keep = async smaller => {
    const text = JSON.stringify(smaller)
    const isSpent = plays >= bounds.plays || events >= bounds.events
    if (isSpent || tried.has(text) || !isServed(smaller)) return false
    tried.add(text)
    plays += 1
    const played = await play(smaller)
    events += played.events
    return played.broken?.invariant === invariant
  }
  for (let smallest = scenario; ; ) {
    const before = smallest
    for (const pass of PASSES) smallest = await pass(smallest, keep)
    if (smallest === before) return smallest
  }
}

/** Passes that remove what costs most to play come first. */
const PASSES: readonly Pass[] = [
  (scenario, keep) => fewer(scenario.steps, steps => ({ ...scenario, steps }), keep, scenario),
  (scenario, keep) => fewer(scenario.workers, workers => ({ ...scenario, workers }), keep, scenario),
  (scenario, keep) => fewer(scenario.flows, flows => ({ ...scenario, flows }), keep, scenario),
  (scenario, keep) => fewer(scenario.types, types => ({ ...scenario, types }), keep, scenario),
  fewerOutages,
  milder,
  calmEarlier,
  nothingAfterwards,
  shorterActs,
]

/** Removes parts of a list: all of them, halves, quarters, and so on down to single parts. */
async function fewer<Part>(
  all: readonly Part[],
  withParts: (parts: readonly Part[]) => Scenario,
  keep: Keep,
  scenario: Scenario,
): Promise<Scenario> {
  let parts = all
  let smallest = scenario
  for (let size = parts.length; size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < parts.length; ) {
      const rest = parts.toSpliced(from, size)
      const smaller = withParts(rest)
      if (await keep(smaller)) {
        parts = rest
        smallest = smaller
      } else {
        from += size
      }
    }
  }
  return smallest
}

async function fewerOutages(scenario: Scenario, keep: Keep): Promise<Scenario> {
  return fewer(scenario.outages ?? [], outages => ({ ...scenario, outages }), keep, scenario)
}

/** Removes whole kinds of misfortune. */
function milder(scenario: Scenario, keep: Keep): Promise<Scenario> {
  const kinds = Object.entries(scenario.weather).filter(([, share]) => share > 0)
  const withKinds = (left: readonly (readonly [string, number])[]) => {
    const weather: Weather = { ...CALM, ...Object.fromEntries(left) }
    return { ...scenario, weather }
  }
  return fewer(kinds, withKinds, keep, scenario)
}

/** Searches by bisection for the earliest `calmAt` that still breaks the invariant. */
async function calmEarlier(scenario: Scenario, keep: Keep): Promise<Scenario> {
  let smallest = scenario
  let tooEarly = -1
  while (smallest.calmAt - tooEarly > CALM_STEP_MS) {
    const calmAt = tooEarly < 0 ? 0 : Math.floor((smallest.calmAt + tooEarly) / 2)
    const smaller = { ...smallest, calmAt }
    if (await keep(smaller)) smallest = smaller
    else tooEarly = calmAt
    if (smallest.calmAt === 0) break
  }
  return smallest
}

async function nothingAfterwards(scenario: Scenario, keep: Keep): Promise<Scenario> {
  const smaller = { ...scenario, afterwardsMs: 0 }
  return (await keep(smaller)) ? smaller : scenario
}

async function shorterActs(scenario: Scenario, keep: Keep): Promise<Scenario> {
  let smallest = scenario
  for (const [position, step] of scenario.steps.entries()) {
    if (step.do !== 'publish') continue
    const current = smallest
    const withActs = (acts: typeof step.acts): Scenario => ({
      ...current,
      steps: current.steps.with(position, { ...step, acts }),
    })
    smallest = await fewer(step.acts, withActs, keep, current)
  }
  return smallest
}

/**
 * Whether every type in the steps exists and has a worker. Without one its tasks would wait for ever, which
 * breaks another invariant.
 */
function isServed({ steps, types, flows, workers }: Scenario): boolean {
  const hasWorker = (name: string) => {
    const servedBy = types.find(({ type }) => type === name)?.servedBy
    return servedBy === 'lambda' || (servedBy && workers.some(worker => worker.types.includes(name)))
  }
  const isServing = (name: string) => {
    const flow = flows.find(({ type }) => type === name)
    return flow ? servingTypes(flow).every(hasWorker) : hasWorker(name)
  }
  return [...flows.flatMap(servingTypes), ...steps.flatMap(typesOf)].every(isServing)
}

function servingTypes({ steps }: FlowSetup): string[] {
  return steps.flatMap(step => [step.do.type, ...(step.undo ? [step.undo.type] : [])])
}

function typesOf(step: Step): string[] {
  if ('composition' in step) return jobsIn(step.composition).flatMap(typesOfJob)
  if ('request' in step) return [step.request.type, ...callbacksIn(step).flatMap(typesOfJob)]
  if ('job' in step) return typesOfJob(step.job)
  if ('flow' in step) return [step.flow.type, ...servingTypes(step.flow)]
  if ('type' in step) return [step.type]
  const type = 'id' in step ? step.id.split(':')[0] : undefined
  return type === undefined ? [] : [type]
}

function typesOfJob(job: Job): string[] {
  return [job.type, ...callbacksIn(job).flatMap(typesOfJob)]
}
