import type { TaskType } from '../../../../shared/core/types/task-type.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { noteDelayCause } from './delay-causes.ts'

/** What the world knows of a scenario with readers: every head and type that was stored, and when. */
export type Sightings = {
  see(event: HistoryEvent): void
  /** The heads that an answer may show to a question of `from` that is answered at `at`; undefined stands for no head. */
  heads(id: string, window: Window): ReadonlyArray<SeenHead | undefined>
  /** The same for an answer about a single task, whose head is read as it is at that time. */
  ownHeads(id: string, window: Window): ReadonlyArray<SeenHead | undefined>
  types(name: string, window: Window): readonly TaskType[]
  ids(): Iterable<string>
}

export type Window = { readonly from: number; readonly at: number }

/** How old a read may be: an index and a replica lag by up to 5 s, and a process keeps types and workers for a second. */
const AGE_MS_MAX = 6_500

type Sighting<Value> = { readonly at: number; readonly value: Value }

const sightings = new WeakMap<Scenario, Sightings>()

/** Begins to collect sightings. The first invariant of this room does so, and tells them of every event. */
export function beginSightings(scenario: Scenario): Sightings {
  const begun = createSightings()
  sightings.set(scenario, begun)
  return begun
}

export function sightingsOf(scenario: Scenario): Sightings {
  return sightings.get(scenario) ?? beginSightings(scenario)
}

function createSightings(): Sightings {
  const heads = new Map<string, Array<Sighting<SeenHead | undefined>>>()
  const types = new Map<string, Array<Sighting<TaskType>>>()
  return {
    ids: () => heads.keys(),
    see: event => {
      const { at } = event
      if (event.what === 'write') {
        noted(heads, event.after.id, { at, value: event.after })
        noteDelayCause(event)
      }
      if (event.what === 'expired') noted(heads, event.id, { at, value: undefined })
      if (event.what === 'type') noted(types, event.type.type, { at, value: event.type })
    },
    heads: (id, window) => during(heads.get(id) ?? [], lagging(window), true),
    ownHeads: (id, window) => during(heads.get(id) ?? [], window, true),
    types: (name, window) =>
      during(types.get(name) ?? [], lagging(window), false).flatMap(type => (type ? [type] : [])),
  }
}

function noted<Value>(all: Map<string, Sighting<Value>[]>, name: string, one: Sighting<Value>): void {
  const known = all.get(name)
  if (known) known.push(one)
  else all.set(name, [one])
}

function lagging({ from, at }: Window): Window {
  return { from: from - AGE_MS_MAX, at }
}

/** The values that were stored at some time of the window, and before the first one none. */
function during<Value>(
  all: readonly Sighting<Value>[],
  { from, at }: Window,
  hasNone: boolean,
): Array<Value | undefined> {
  const first = all.findLastIndex(one => one.at <= from)
  const values = all.slice(Math.max(first, 0)).filter(one => one.at <= at)
  const none = hasNone && first < 0 ? [undefined] : []
  return [...none, ...values.map(({ value }) => value)]
}

/** How far the clock of the process that answers may be off. */
export function clockErrorMs({ weather: { skewMs, stepMs } }: Scenario): number {
  return skewMs + stepMs + 100
}
