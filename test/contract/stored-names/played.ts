import type { Change } from '../../../shared/core/change.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { generate, generateWithoutTrial, type ScenarioKind } from '../../simulation/generate/generate.ts'
import { simulate } from '../../simulation/simulate/simulate.ts'
import type { Mirror } from './mirror.ts'

/** Most names are in the examples. The played scenarios add names that only the use cases compose, such as those of records. */
const USUAL_SEEDS = [2, 38, 39]
const RARE: ReadonlyArray<readonly [ScenarioKind, number]> = [
  ['schedules', 1],
  ['control', 1],
  ['quick-restarts', 3],
  ['edits', 69],
]

/** Plays a few scenarios. Every call of a port is repeated on the mirror's port. */
export async function playInto(mirror: Mirror): Promise<void> {
  const spoil = (system: PlanningSystem) => mirrored(system, mirror)
  const usual = USUAL_SEEDS.map(generateWithoutTrial)
  for (const scenario of [...usual, ...RARE.map(([rare, seed]) => generate(seed, rare))]) {
    const { broken } = await simulate(scenario, { planted: { name: 'its calls are mirrored', spoil } })
    if (broken) throw new Error(`seed ${scenario.seed} is broken: ${JSON.stringify(broken)}`)
  }
}

function mirrored(system: PlanningSystem, { ports, noteHead }: Mirror): PlanningSystem {
  const tasks = bothOf(system.tasks, ports.tasks)
  return {
    ...system,
    tasks: {
      ...tasks,
      apply: async (change: Change) => {
        noteHead(change.after)
        return tasks.apply(change)
      },
    },
    types: bothOf(system.types, ports.types),
    canvases: bothOf(system.canvases, ports.canvases),
    limits: bothOf(system.limits, ports.limits),
    turns: bothOf(system.turns, ports.turns),
    failures: bothOf(system.failures, ports.failures),
    activity: bothOf(system.activity, ports.activity),
    records: bothOf(system.records, ports.records),
    targets: bothOf(system.targets, ports.targets),
    workers: bothOf(system.workers, ports.workers),
    messages: bothOf(system.messages, ports.messages),
    timers: bothOf(system.timers, ports.timers),
  }
}

/** A port whose calls are repeated on its mirror. The answers of the mirror are dropped. */
function bothOf<Port extends object>(port: Port, mirror: Port): Port {
  const methods = Object.entries(port).map(([method, call]) => [
    method,
    (...args: unknown[]) => {
      const mirrorCall = mirror[method as keyof Port] as (...args: unknown[]) => Promise<unknown>
      void mirrorCall(...args).catch(() => undefined)
      return call(...args)
    },
  ])
  return Object.fromEntries(methods) as Port
}
