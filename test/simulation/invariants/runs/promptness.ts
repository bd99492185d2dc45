import { QUEUE_DELAY_MS_MAX } from '../../../../shared/core/bounds.ts'
import { endedRuns } from '../../../../shared/core/task/task.ts'
import { allScripts } from '../../jobs-in.ts'
import { CALM, type Scenario } from '../../scenario.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn } from '../pieces.ts'
import { rhythmOf } from '../schedules/ticks.ts'

/**
 * How long after the lease's end a lost run is recorded. A look comes half a second after the lease's end,
 * rounded up to whole seconds, and takes a few calls.
 */
const LOST_WITHIN_MS = 2_000
/**
 * How long after its due time a Lambda claims a task. The delay of a dispatch is rounded down, and the Lambda
 * waits for the rest.
 */
const CLAIMED_WITHIN_MS = 500
/**
 * How long a task waits for a repair. A dispatch whose claim met an outage is hidden for its queue's visibility
 * timeout, here 12 minutes for a Lambda.
 */
const REPAIRED_WITHIN_MS = 15 * 60_000
/**
 * How long owed work waits. The stream is late by up to a minute, the sweeper runs every minute, and calls may
 * be slow.
 */
const GONE_ON_WITHIN_MS = 5 * 60_000
/**
 * How late a far task starts: one that is due further ahead than an SQS delay reaches (15 minutes). The sweeper,
 * which runs every minute, wakes a far minute at the latest when that minute is a few seconds old. The sweeper
 * finds overdue tasks only ten seconds after their time.
 */
const FAR_WITHIN_MS = 10_000
/** Enough time for some undisturbed rounds of the sweeper. */
const CALM_BEFORE_MS = 3 * 60_000
/** A crash takes at most the default lease. */
const CRASH_MS = 15_000
/** A little longer than any message can be delayed. */
const QUIET_AFTER_MS = 17 * 60_000

/** Promises about time: without faults everything is prompt, and faults are repaired soon. */
export const PROMPTNESS_INVARIANTS: readonly Invariant[] = [
  {
    name: 'in calm weather a lost run is recorded within two seconds of the end of its lease',
    watch: ({ weather }) => ({
      on: event => {
        if (weather !== CALM || event.what !== 'write') return undefined
        const { before, after, at } = event
        const lost = endedRuns(after).filter(({ fence, state }) => state === 'lost' && before?.live[fence])
        const late = lost
          .map(({ fence }) => at - (before?.live[fence]?.leaseUntil ?? at))
          .find(ms => ms > LOST_WITHIN_MS)
        return late === undefined
          ? undefined
          : `a run of ${after.id} was recorded as lost ${Math.round(late)} ms after its lease`
      },
    }),
  },
  {
    name: 'in calm weather a Lambda claims its tasks within half a second of their due time',
    watch: scenario => ({
      on: event => {
        if (!isUndisturbed(scenario) || event.what !== 'write') return undefined
        const { before, after, at } = event
        if (after.operation !== 'claim' || !before || after.type !== 'by-lambda') return undefined
        const late = at - Math.max(before.dueAt, before.updatedAt)
        return late > CLAIMED_WITHIN_MS ? `${after.id} was claimed ${Math.round(late)} ms late` : undefined
      },
    }),
  },
  {
    name: 'once it is calm, lost messages are repaired within minutes',
    watch: scenario => ({
      on: event => {
        if (isOverloaded(scenario) || event.what !== 'write' || event.after.operation !== 'claim')
          return undefined
        const { before, after, at } = event
        const calm = START + scenario.calmAt
        const ownRetryAt = before?.retryAtBy[claimIn(event)?.workerId ?? ''] ?? 0
        const waited = at - Math.max(before?.dueAt ?? at, before?.updatedAt ?? at, calm, ownRetryAt)
        return waited > REPAIRED_WITHIN_MS
          ? `${after.id} waited ${Math.round(waited / 1_000)} s for its claim`
          : undefined
      },
    }),
  },
  {
    name: 'once it is calm, a far task of a Lambda starts within ten seconds of its due time, even if its EventBridge schedule was lost',
    watch: scenario => ({
      on: event => {
        if (event.what !== 'write' || event.after.operation !== 'claim') return undefined
        const { before, at } = event
        const { calmAt, weather } = scenario
        const isFree = weather.skewMs === 0 && !isHeldBack(scenario)
        const isJudged = isFree && before?.type === 'by-lambda' && isFarOff(before)
        if (!isJudged || before.dueAt < START + calmAt + CALM_BEFORE_MS) return undefined
        const late = at - before.dueAt
        return late > FAR_WITHIN_MS ? `${before.id} was claimed ${Math.round(late)} ms late` : undefined
      },
    }),
  },
  {
    name: 'once it is calm, a canvas continues within minutes of the end that it waited for',
    watch: ({ calmAt }) => {
      /** When each canvas last changed, by its birth. */
      const latest = new Map<string, number>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after, at } = event
          const born = canvasOf(after)
          if (born === undefined || before?.state === after.state) return undefined
          const waited = at - Math.max(latest.get(born) ?? at, START + calmAt)
          latest.set(born, at)
          const continues = after.operation === 'publish' || (after.canvas && after.state !== 'cancelled')
          return continues && waited > GONE_ON_WITHIN_MS
            ? `${after.id} waited ${Math.round(waited / 1_000)} s for its ${after.operation}`
            : undefined
        },
      }
    },
  },
  {
    // A changed type starts a job that reads its tasks. An index may show them late, so the job sends some
    // messages whatever it finds.
    name: 'no message is sent any more once all tasks have ended and no type is changed',
    watch: ({ afterwardsMs, steps }) => {
      // A purge reads its type twice, whatever it finds.
      const isPurging = steps.some(step => step.do === 'purge')
      const open = new Set<string>()
      let lastWrite = Number.POSITIVE_INFINITY
      /** When the last task is due. The EventBridge schedule of a far minute fires whatever became of its tasks. */
      let lastDue = 0
      const note = (after: SeenHead) => {
        lastDue = Math.max(lastDue, after.dueAt)
        if (after.state === 'open') open.add(after.id)
        else open.delete(after.id)
      }
      return {
        on: event => {
          if (afterwardsMs === 0 || isPurging) return undefined
          if (event.what === 'write') note(event.after)
          if (event.what === 'write' || event.what === 'type') lastWrite = event.at
          const waited = event.at - Math.max(lastWrite, lastDue)
          const isTooLate = event.what === 'sent' && open.size === 0 && waited > QUIET_AFTER_MS
          return isTooLate
            ? `a message went to queue ${event.queue} ${Math.round(waited / 1_000)} s after the last write`
            : undefined
        },
      }
    },
  },
]

/** Whether the task was last written so long before its due time that no queue could delay its message. */
function isFarOff({ dueAt, updatedAt }: SeenHead): boolean {
  return dueAt - updatedAt > QUEUE_DELAY_MS_MAX
}

/** The birth of the canvas that a task is, or whose member it is. */
function canvasOf({ canvas, member, born }: SeenHead): string | undefined {
  return canvas ? born : member?.born
}

/** Whether nothing delays a claim: calm weather, no crash, no operation and no limit. */
function isUndisturbed({ weather, steps, types }: Scenario): boolean {
  return (
    weather === CALM &&
    steps.every(step => step.do === 'publish' && step.acts.every(({ end }) => end !== 'crash')) &&
    types.every(({ limits }) => limits === undefined)
  )
}

/** Whether limits or pauses make tasks wait at some time. */
function isHeldBack({ types, steps }: Scenario): boolean {
  return (
    types.some(({ limits }) => limits) || steps.some(step => 'limits' in step || step.do === 'pause-type')
  )
}

/** Whether a schedule publishes more work than a worker with concurrency 1 can do, or a limit holds tasks back for hours. */
function isOverloaded({ steps, trial }: Scenario): boolean {
  // The sweeper sends less and less often what helps nothing, and in the trial `stuck` nothing helps for half an hour.
  if (trial === 'rates' || trial === 'stuck') return true
  return steps.some(step => {
    if (step.do !== 'put-schedule' || step.timing.kind === 'at') return false
    const acts = allScripts([step]).flatMap(one => [one.acts, ...Object.values(one.pieces ?? {})].flat())
    const workMs = acts.reduce((sum, { ms, end }) => sum + ms + (end === 'crash' ? CRASH_MS : 0), 0)
    return workMs > rhythmOf(step.timing, START).everyMs
  })
}
