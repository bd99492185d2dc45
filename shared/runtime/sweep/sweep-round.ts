import type { TaskType } from '../../core/types/task-type.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { type StateReader, servingStateReader } from '../types/serving-states.ts'
import type { CheckedMinutes } from './sweep-minutes.ts'

/** A type that no round has finished for this long has missed some rounds. */
const ROUND_MISSED_MS = 150_000

/** For each type, when this process last finished a round, and since when it has missed none. */
type SweepRounds = Map<string, { readonly since: number; readonly last: number }>

/**
 * Tasks read per type and round, however many shards it has.
 *
 * - `running`     so that one round reads 10,000 running tasks, though ids are not spread quite evenly over the shards
 * - `passed`      due tasks whose turn in the queue is over: most of them run, and the rest has lost its message. Those that are in the
 *                 running place are left out, so these began in the last seconds or do not live
 * - `waiting`     due tasks that wait without a turn in a queue: over HTTP, in an order, at steps of flows; undoing flows
 * - `queued`      due tasks whose message should still wait in its queue, or cannot be sent yet
 */
export type TasksBudget = Readonly<Record<'running' | 'passed' | 'waiting' | 'queued', number>>

const TASKS_BUDGET: TasksBudget = { running: 12_000, passed: 6_000, waiting: 2_000, queued: 200 }

/** What a process keeps from round to round. */
export type SweepMemory = {
  /**
   * They tell since when no round was missed. A task that became due before that time counts as waiting only since then.
   * Undefined: no round counts as missed.
   */
  readonly rounds?: SweepRounds
  /** The far minutes that were checked already. */
  readonly minutes: CheckedMinutes
}

export function createSweepMemory(): Required<SweepMemory> {
  return { rounds: new Map(), minutes: new Set() }
}

/** What the repairs of one round share. A repair changes nothing of it but its own part of `memory`. */
export type SweepRound = {
  readonly system: PlanningSystem
  /** All types, beginning with a random one, so that none is always the last when the time runs out. */
  readonly types: readonly TaskType[]
  /** When any type was changed last. */
  readonly typesChangedAt: number
  readonly paused: ReadonlySet<string>
  /** Measures each queue once per round. */
  readonly stateOf: StateReader
  readonly memory: SweepMemory
  readonly budget: TasksBudget
}

export async function beginRound(
  system: PlanningSystem,
  memory: SweepMemory,
  budget = TASKS_BUDGET,
): Promise<SweepRound> {
  const types = rotate(await system.types.list(), system.chance.fraction())
  return {
    system,
    types,
    typesChangedAt: Math.max(0, ...types.map(({ updatedAt }) => updatedAt)),
    paused: new Set(types.filter(({ paused }) => paused).map(({ type }) => type)),
    stateOf: servingStateReader(system, types),
    memory,
    budget,
  }
}

function rotate<T>(list: readonly T[], share: number): T[] {
  const start = Math.floor(list.length * share)
  return [...list.slice(start), ...list.slice(0, start)]
}

/** The time since which no round of the type was missed. It is `now` when the last rounds were missed. */
export function noRoundMissedSince({ rounds }: SweepMemory, type: string, now: number): number {
  if (!rounds) return 0
  const known = rounds.get(type)
  return known && now - known.last <= ROUND_MISSED_MS ? known.since : now
}
