import { endedRuns } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'

/** Promises about the runs that a restart forgets. */
export const CLEAN_RESTART_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a restart forgets the ended runs that it names, and keeps the others',
    watch: scenario => {
      const cleans = cleansOf(scenario)
      return {
        on: event => {
          if (event.what !== 'write' || event.after.operation !== 'restart' || !event.before) return undefined
          const clean = cleans.get(event.after.id)
          if (clean === undefined || event.after.flow) return undefined
          const { before, after } = event
          const isNamed = ({ state }: { readonly state: string }) =>
            clean.includes(state === 'succeeded' ? 'succeeded' : 'failed')
          const kept = endedRuns(before).filter(run => !isNamed(run) && !run.past)
          const lost = kept.find(({ fence, state }) => state === 'succeeded' && !after.ended[fence])
          if (lost) return `the restart of ${after.id} forgets run ${lost.fence}, which ${lost.state}`
          const left = endedRuns(after).find(run => isNamed(run) && !run.past)
          return left && `the restart of ${after.id} keeps run ${left.fence}, which ${left.state}`
        },
      }
    },
  },
]

/** The runs that the restarts of each task name, for tasks whose restarts all name the same ones. */
function cleansOf({ steps }: Scenario): ReadonlyMap<string, string> {
  const all = new Map<string, Set<string>>()
  const add = (id: string, clean: readonly string[]) =>
    all.set(id, (all.get(id) ?? new Set()).add(clean.join(' ')))
  for (const step of steps) {
    if (step.do === 'restart') add(step.id, step.clean)
    if (step.do !== 'publish' || step.request.ifExists !== 'restart') continue
    add(`${step.request.type}:${step.request.key}`, step.request.clean ?? ['failed', 'succeeded'])
  }
  return new Map(
    [...all].flatMap(([id, [clean, ...more]]) =>
      clean !== undefined && more.length === 0 ? [[id, clean] as const] : [],
    ),
  )
}
