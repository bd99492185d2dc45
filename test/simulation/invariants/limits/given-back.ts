import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import { allScripts } from '../../jobs-in.ts'
import type { Scenario } from '../../scenario.ts'
import type { Invariant, Write } from '../invariant.ts'

const RELEASED_WITHIN_MS = 10_000

/** Promises about permits: which runs hold them, and when they are given back. `permits.ts` has the promises about lost runs. */
export const GIVEN_BACK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a handler begins only while its run holds its permits',
    watch: () => {
      const held = new Set<string>()
      const heads = new Map<string, Task>()
      return {
        on: event => {
          if (event.what === 'permit') {
            if (event.isHeld) held.add(nameOf(event))
            else held.delete(nameOf(event))
          }
          if (event.what === 'write') heads.set(event.after.id, event.after)
          if (event.what !== 'began') return undefined
          const { permits = [] } = heads.get(event.id)?.live[event.fence] ?? {}
          const lost = permits.find(permit => !held.has(nameOf(permit)))
          return lost && `${event.id} begins without the permit ${nameOf(lost)} of its run`
        },
      }
    },
  },
  {
    name: 'a slow claim that still holds its permits begins its run',
    watch: ({ trial, steps, outages, weather }) => {
      const isDisturbed = weather.slow + weather.refused + weather.answerLost > 0 || outages !== undefined
      if (trial !== 'permits' || isDisturbed || steps.some(({ do: what }) => what !== 'publish')) return {}
      const held = new Set<string>()
      const begun = new Set<string>()
      return {
        on: event => {
          if (event.what === 'permit' && event.isHeld) held.add(nameOf(event))
          if (event.what === 'permit' && !event.isHeld) held.delete(nameOf(event))
          if (event.what === 'began') begun.add(`${event.id} ${event.fence}`)
          const given = event.what === 'write' && event.after.operation === 'release' ? runsIn(event) : []
          const [wrong] = given.filter(
            ({ name, permits }) =>
              permits.length > 0 && !begun.has(name) && permits.every(one => held.has(one)),
          )
          return wrong && `${wrong.name} is given back before its handler began, with all its permits`
        },
      }
    },
  },
  {
    name: 'where nothing goes wrong, the permit of an ended run is released within seconds',
    watch: scenario => {
      if (!isUndisturbed(scenario)) return {}
      /** Since when permits of ended runs are still held, by limit and holder. */
      const owed = new Map<string, number>()
      return {
        on: event => {
          const { at } = event
          if (event.what === 'permit') owed.delete(nameOf(event))
          if (event.what === 'write')
            for (const name of runsIn(event).flatMap(run => run.permits)) owed.set(name, at)
          for (const [name, since] of owed) {
            if (at - since <= RELEASED_WITHIN_MS) break
            return `the permit ${name} is held ${Math.round(at - since)} ms after its run ended`
          }
          return undefined
        },
      }
    },
  },
]

/** Whether limits count runs, no call fails or takes long, and no process dies. */
function isUndisturbed({ types, weather, outages, steps }: Scenario): boolean {
  const isStill = Object.values(weather).every(share => share === 0)
  const scripts = allScripts(steps).flatMap(({ acts, pieces = {} }) =>
    [acts, ...Object.values(pieces)].flat(),
  )
  return (
    types.some(({ limits }) => limits?.concurrency) &&
    isStill &&
    outages === undefined &&
    scripts.every(({ end }) => end !== 'crash') &&
    steps.every(step => !('workerId' in step))
  )
}

/** The runs that a write ended, with their permits. */
function runsIn({ before, after }: Write) {
  if (!before) return []
  return liveRuns(before)
    .filter(({ fence }) => before.born !== after.born || !after.live[fence])
    .map(({ fence, permits = [] }) => ({ name: `${after.id} ${fence}`, permits: permits.map(nameOf) }))
}

function nameOf({ limit, holder }: { readonly limit: string; readonly holder: string }): string {
  return `${limit} ${holder}`
}
