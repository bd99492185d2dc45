import { endedRuns, liveRuns } from '../../../shared/core/task.ts'
import { allScripts } from '../jobs-in.ts'
import type { Outage, Scenario } from '../scenario.ts'
import { START } from '../world/world.ts'
import type { Invariant, Write } from './invariant.ts'
import { claimIn } from './pieces.ts'

/** A worker needs this much of its lease to write an end. */
const LEAST_LEFT_MS = 1_000
/** After an outage a call that was under way may take so long, and the next try comes half a second later. */
const ANSWERED_BEFORE_MS = 12_000

/** Promises about what handlers have reported. */
export const OF_REPORTS: readonly Invariant[] = [
  {
    name: 'what a handler has reported in time is never recorded as lost',
    watch: scenario => {
      const isJudged = areProcessesSpared(scenario)
      /** Until when the run was safe at its report, and when that was, by run. */
      const reported = new Map<string, { readonly at: number; readonly leaseUntil: number }>()
      const leases = new Map<string, number>()
      const lostIn = ({ before, after }: Write) =>
        endedRuns(after).find(({ fence, state }) => {
          const run = before?.live[fence]
          const report = run && state === 'lost' && reported.get(`${after.id} ${before.born} ${fence}`)
          return report && !isExcused(scenario, report.at, run.leaseUntil)
        })
      const births = new Map<string, string>()
      return {
        on: happening => {
          if (!isJudged) return undefined
          if (happening.what === 'write') {
            const { after } = happening
            births.set(after.id, after.born)
            for (const { fence, leaseUntil } of liveRuns(after))
              leases.set(`${after.id} ${after.born} ${fence}`, leaseUntil)
            const lost = lostIn(happening)
            return (
              lost && `run ${lost.fence} of ${after.id} is recorded as lost, though its handler had ended`
            )
          }
          if (happening.what !== 'reported') return undefined
          const { id, fence, at } = happening
          const run = `${id} ${births.get(id)} ${fence}`
          const leaseUntil = leases.get(run) ?? 0
          if (leaseUntil - at > LEAST_LEFT_MS) reported.set(run, { at, leaseUntil })
          return undefined
        },
      }
    },
  },
  {
    name: 'no task fails while all its handlers succeed',
    watch: scenario => {
      const isJudged = areProcessesSpared(scenario) && !scenario.outages
      /** Of each birth, the runs that have not ended well as far as their handlers go. */
      const unwell = new Map<string, Set<number>>()
      const births = new Map<string, string>()
      return {
        on: happening => {
          if (!isJudged) return undefined
          if (happening.what === 'reported' && happening.end === 'succeed')
            unwell.get(`${happening.id} ${births.get(happening.id)}`)?.delete(happening.fence)
          if (happening.what !== 'write') return undefined
          const { before, after } = happening
          const birth = `${after.id} ${after.born}`
          births.set(after.id, after.born)
          const run = claimIn(happening)
          if (run) unwell.set(birth, (unwell.get(birth) ?? new Set()).add(run.fence))
          const isFailed =
            before?.state === 'open' && after.state === 'failed' && !after.flow && !after.canvas
          const isJust =
            after.deadlineAt !== undefined || after.fence === 0 || (unwell.get(birth)?.size ?? 1) > 0
          return isFailed && !isJust
            ? `${after.id} has failed, though every handler has succeeded`
            : undefined
        },
      }
    },
  },
]

/** Whether no process dies, freezes or misjudges time, so that each end of a run can be written in time. */
function areProcessesSpared({ weather, steps }: Scenario): boolean {
  const { death, freeze, slow, refused, answerLost, skewMs, stepMs } = weather
  const isSpared = death + freeze + slow + skewMs + stepMs === 0 && refused + answerLost <= 0.05
  const acts = allScripts(steps).flatMap(script =>
    [script.acts, ...Object.values(script.pieces ?? {})].flat(),
  )
  return isSpared && !steps.some(step => 'workerId' in step) && acts.every(({ end }) => end !== 'crash')
}

/** An outage until shortly before the end of the lease. Over HTTP somebody may give up in any. */
function isExcused({ outages = [], types }: Scenario, reportedAt: number, leaseUntil: number): boolean {
  const isOverHttp = types.some(({ servedBy }) => servedBy === 'http')
  const from = isOverHttp ? reportedAt : leaseUntil - ANSWERED_BEFORE_MS
  const overlaps = ({ service, from: start, ms }: Outage) =>
    (service === 'table' || service === 'functions') &&
    START + start < leaseUntil &&
    START + start + ms > from
  return outages.some(overlaps)
}
