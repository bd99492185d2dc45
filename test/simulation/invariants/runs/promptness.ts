import { MAX_QUEUE_DELAY_MS } from '../../../../shared/core/bounds.ts'
import { endedRuns, type Task } from '../../../../shared/core/task/task.ts'
import { allScripts } from '../../jobs-in.ts'
import { CALM, type Scenario } from '../../scenario.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'
import { rhythmOf } from '../schedules/ticks.ts'

/** A look comes half a second after the lease's end, rounded up to whole seconds, and takes a few calls. */
const LOST_WITHIN_MS = 2_000
/** Dispatches are rounded down, and their rest is waited out. */
const CLAIMED_WITHIN_MS = 500
/** A dispatch whose claim met an outage is hidden for its queue's visibility timeout, 12 minutes for a Lambda here. */
const REPAIRED_WITHIN_MS = 15 * 60_000
/** The stream falls behind by a minute, and the sweeper comes every minute; calls may be slow on the way. */
const GONE_ON_WITHIN_MS = 5 * 60_000
/**
 * The sweeper, which comes every minute, wakes a far minute at the latest when it is a few seconds old; what is overdue it
 * would find only ten seconds after its time.
 */
const FAR_WITHIN_MS = 10_000
/** Rounds of the sweeper that nothing disturbs. */
const CALM_BEFORE_MS = 3 * 60_000
/** A crash costs at most the default lease. */
const CRASH_MS = 15_000
/** Longer than any message can be delayed, and a little. */
const QUIET_AFTER_MS = 17 * 60_000

/** Promises about time: where nothing goes wrong things are prompt, and what went wrong is repaired soon. */
export const PROMPTNESS_INVARIANTS: readonly Invariant[] = [
  {
    name: 'in calm weather a lost run is on record two seconds after the end of its lease',
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
    name: 'once it is calm, whatever was lost is repaired within minutes',
    watch: scenario => ({
      on: event => {
        if (isOverfed(scenario) || event.what !== 'write' || event.after.operation !== 'claim')
          return undefined
        const { before, after, at } = event
        const calm = START + scenario.calmAt
        const waited = at - Math.max(before?.dueAt ?? at, before?.updatedAt ?? at, calm)
        return waited > REPAIRED_WITHIN_MS
          ? `${after.id} waited ${Math.round(waited / 1_000)} s for its claim`
          : undefined
      },
    }),
  },
  {
    name: 'once it is calm, a far task of a Lambda starts within ten seconds of its due time, whatever became of its schedule',
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
    name: 'once it is calm, what the end of a task owes is published within minutes',
    watch: ({ calmAt }) => ({
      on: event => {
        if (event.what !== 'write' || event.after.operation !== 'settle') return undefined
        const { before, after, at } = event
        const waited = at - Math.max(before?.finishedAt ?? at, START + calmAt)
        return waited > GONE_ON_WITHIN_MS
          ? `the debt of ${after.id} was settled after ${Math.round(waited / 1_000)} s`
          : undefined
      },
    }),
  },
  {
    name: 'once it is calm, a canvas goes on within minutes of the end that it waited for',
    watch: ({ calmAt }) => {
      /** When something last happened to each canvas, by its birth. */
      const latest = new Map<string, number>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after, at } = event
          const born = canvasOf(after)
          if (born === undefined || before?.state === after.state) return undefined
          const waited = at - Math.max(latest.get(born) ?? at, START + calmAt)
          latest.set(born, at)
          const goesOn = after.operation === 'publish' || (after.canvas && after.state !== 'cancelled')
          return goesOn && waited > GONE_ON_WITHIN_MS
            ? `${after.id} waited ${Math.round(waited / 1_000)} s for its ${after.operation}`
            : undefined
        },
      }
    },
  },
  {
    // A change of a type has its tasks gone through, of which an index may show late: it sends that much whatever it finds.
    name: 'nothing is sent any more once all tasks are over and no type is changed',
    watch: ({ afterwardsMs, steps }) => {
      // A purge goes through its type until it has been through twice, whatever is there.
      const isPurging = steps.some(step => step.do === 'purge')
      const open = new Set<string>()
      let lastWrite = Number.POSITIVE_INFINITY
      /** The schedule of a far minute fires, whatever became of its tasks. */
      let lastDue = 0
      const note = (after: Task) => {
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

/** Untouched since before a queue could have waited for it. */
function isFarOff({ dueAt, updatedAt }: Task): boolean {
  return dueAt - updatedAt > MAX_QUEUE_DELAY_MS
}

/** The birth of the canvas that a task is, or is a member of. */
function canvasOf({ canvas, member, born }: Task): string | undefined {
  return canvas ? born : member?.born
}

/** Nobody dies there, from outside or by a crash of its own, and nothing is held back. */
function isUndisturbed({ weather, steps, types }: Scenario): boolean {
  return (
    weather === CALM &&
    steps.every(step => step.do === 'publish' && step.acts.every(({ end }) => end !== 'crash')) &&
    types.every(({ limits }) => limits === undefined)
  )
}

/** Whether limits or pauses keep tasks waiting at some time. */
function isHeldBack({ types, steps }: Scenario): boolean {
  return (
    types.some(({ limits }) => limits) || steps.some(step => 'limits' in step || step.do === 'pause-type')
  )
}

/** Whether a schedule publishes more work than a worker that runs one task at once can do. */
function isOverfed({ steps }: Scenario): boolean {
  return steps.some(step => {
    if (step.do !== 'put-schedule' || step.timing.kind === 'at') return false
    const acts = allScripts([step]).flatMap(one => [one.acts, ...Object.values(one.pieces ?? {})].flat())
    const workMs = acts.reduce((sum, { ms, end }) => sum + ms + (end === 'crash' ? CRASH_MS : 0), 0)
    return workMs > rhythmOf(step.timing, START).everyMs
  })
}
