import { type EndedRun, endedRuns, type LiveRun, liveRuns } from '../../../shared/core/task/task.ts'
import { allScripts } from '../jobs-in.ts'
import type { Outage, Scenario } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import type { SeenHead } from '../world/seen-head.ts'
import { START } from '../world/world.ts'
import type { Invariant, Write } from './invariant.ts'
import { claimIn } from './pieces.ts'

/** How much of its lease a worker needs to write an end. */
const LEASE_LEFT_MS_MIN = 1_000
/** How long after an outage a call may still take. The next try comes half a second later. */
const ANSWERED_BEFORE_MS = 12_000

/** Promises about ends that handlers have reported. */
export const REPORT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a run whose handler ended in time is never recorded as lost',
    watch: scenario => {
      const isJudged = areProcessesSpared(scenario)
      const reports = createReports()
      return {
        on: event => {
          if (!isJudged) return undefined
          const lost = event.what === 'write' ? lostIn(event, reports.at, scenario) : undefined
          reports.see(event)
          return lost && `run ${lost.fence} was recorded as lost, although its handler had ended in time`
        },
      }
    },
  },
  {
    name: 'no task fails while all its handlers succeed',
    watch: scenario => {
      const isJudged = areProcessesSpared(scenario) && !scenario.outages
      const handlers = createHandlers()
      return {
        on: event => {
          if (!isJudged) return undefined
          handlers.see(event)
          if (event.what !== 'write') return undefined
          const { before, after } = event
          const isFailed =
            before?.state === 'open' && after.state === 'failed' && !after.flow && !after.canvas
          const isLate = after.deadlineAt !== undefined
          return isFailed && !isLate && handlers.haveAllSucceeded(birthOf(after))
            ? `${after.id} has failed, although every handler has succeeded`
            : undefined
        },
      }
    },
  },
]

function birthOf({ id, born }: { readonly id: string; readonly born: string }): string {
  return `${id} ${born}`
}

/** When each run was reported to have ended, if that was in time. */
function createReports() {
  const reportedAt = new Map<string, number>()
  const leases = new Map<string, number>()
  const births = new Map<string, string>()
  return {
    at: (run: string) => reportedAt.get(run),
    see: (event: HistoryEvent) => {
      if (event.what === 'write') {
        const { after } = event
        births.set(after.id, birthOf(after))
        for (const { fence, leaseUntil } of liveRuns(after))
          leases.set(`${birthOf(after)} ${fence}`, leaseUntil)
      }
      if (event.what !== 'ended') return
      const run = `${births.get(event.id)} ${event.fence}`
      if ((leases.get(run) ?? 0) - event.at > LEASE_LEFT_MS_MIN) reportedAt.set(run, event.at)
    },
  }
}

function lostIn(
  { before, after }: Write,
  reportedAt: (run: string) => number | undefined,
  scenario: Scenario,
): EndedRun | undefined {
  if (!before) return undefined
  return endedRuns(after).find(({ fence, state }) => {
    const run = before.live[fence]
    const at = run && state === 'lost' ? reportedAt(`${birthOf(before)} ${fence}`) : undefined
    return run && at !== undefined && !isExcused(scenario, at, run.leaseUntil)
  })
}

/** For each birth: the runs whose handlers have not succeeded before their timeout. */
function createHandlers() {
  const left = new Map<string, Map<number, number>>()
  const births = new Map<string, string>()
  const seeWrite = (event: Write) => {
    const { after } = event
    const birth = birthOf(after)
    births.set(after.id, birth)
    const run = claimIn(event)
    if (run) left.set(birth, (left.get(birth) ?? new Map()).set(run.fence, timesOutAt(after, run)))
  }
  return {
    haveAllSucceeded: (birth: string) => left.get(birth)?.size === 0,
    see: (event: HistoryEvent) => {
      if (event.what === 'write') seeWrite(event)
      if (event.what !== 'ended' || event.end !== 'succeed') return
      const runs = left.get(births.get(event.id) ?? '')
      if (event.at < (runs?.get(event.fence) ?? 0)) runs?.delete(event.fence)
    },
  }
}

function timesOutAt({ options }: SeenHead, { startedAt }: LiveRun): number {
  return startedAt + (options.timeoutMs ?? Number.POSITIVE_INFINITY)
}

/** Whether no process dies, freezes or has a wrong clock, so that each end of a run can be written in time. */
function areProcessesSpared({ weather, steps }: Scenario): boolean {
  const { death, freeze, slow, refused, answerLost, skewMs, stepMs } = weather
  const isSpared = death + freeze + slow + skewMs + stepMs === 0 && refused + answerLost <= 0.05
  const acts = allScripts(steps).flatMap(script =>
    [script.acts, ...Object.values(script.pieces ?? {})].flat(),
  )
  return isSpared && !steps.some(step => 'workerId' in step) && acts.every(({ end }) => end !== 'crash')
}

/**
 * Whether an outage lasted until shortly before the end of the lease. Over HTTP any outage counts, because a
 * client may stop trying.
 */
function isExcused({ outages = [], types }: Scenario, reportedAt: number, leaseUntil: number): boolean {
  const isOverHttp = types.some(({ servedBy }) => servedBy === 'http')
  const from = isOverHttp ? reportedAt : leaseUntil - ANSWERED_BEFORE_MS
  const overlaps = ({ service, from: start, ms }: Outage) =>
    (service === 'table' || service === 'functions') &&
    START + start < leaseUntil &&
    START + start + ms > from
  return outages.some(overlaps)
}
