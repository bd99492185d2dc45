import type {
  ApiFailureGroup,
  ApiTypeActivity,
  LimitUsage,
} from '../../../../shared/api/diagnosis/statistics.ts'
import { fieldValue, limitName } from '../../../../shared/core/limits/limits.ts'
import { endedRuns, liveRuns } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant, Write } from '../invariant.ts'
import { sightingsOf } from './sightings.ts'
import { onAnswers, type Read } from './why.ts'

/** Ends of one type up to which each is written at once. */
const ENDS_AT_ONCE_MAX = 10

/** Promises about statistics and the usage of limits. Counts are exact where no process fails and no change is lost. */
export const STATISTIC_INVARIANTS: readonly Invariant[] = [
  {
    name: 'the failures of a type are counted, each with a task that failed so',
    watch: scenario => {
      const failures = createFailures()
      return {
        on: event => {
          if (!isExact(scenario)) return undefined
          if (event.what === 'write') failures.see(event)
          if (event.what !== 'read' || event.operation !== 'listFailures') return undefined
          return failures.judge((event.body as { items: ApiFailureGroup[] }).items)
        },
      }
    },
  },
  {
    name: 'the text of a group of failures has no number',
    watch: () => ({
      on: event => {
        if (event.what !== 'read' || event.operation !== 'listFailures') return undefined
        const { items } = event.body as { items: ApiFailureGroup[] }
        const wrong = items.find(({ error }) => /\d/.test(error))
        return wrong && `failures are grouped as ${wrong.error}`
      },
    }),
  },
  {
    name: 'the activity of a type is counted',
    watch: scenario => {
      const activity = createActivity()
      return {
        on: event => {
          if (!isExact(scenario)) return undefined
          if (event.what === 'write') activity.see(event)
          if (event.what !== 'read' || event.operation !== 'listActivity') return undefined
          return activity.judge((event.body as { items: ApiTypeActivity[] }).items)
        },
      }
    },
  },
  {
    name: 'the usage of a limit tells the permits that are held',
    watch: () => {
      const permits = createPermits()
      return {
        on: event => {
          permits.see(event)
          if (event.what !== 'read' || event.operation !== 'limitUsage' || event.status !== 200)
            return undefined
          return usageFault(event, limit => permits.numbers(limit, event))
        },
      }
    },
  },
  onAnswers<LimitUsage>(
    'the usage of a rate limit tells the next free slot',
    'limitUsage',
    (usage, read, scenario) => {
      const { type, rate } = usage
      if (!rate) return undefined
      const rates = sightingsOf(scenario)
        .types(type, read)
        .map(({ configuration }) => configuration.limits?.rate)
      if (!rates.some(one => one?.limit === rate.limit && one.perMs === rate.perMs))
        return `${type} is shown with another rate`
      const isRead = rate.key === undefined || read.query.value !== undefined
      return isRead === (rate.nextSlotAt !== undefined)
        ? undefined
        : `${type} is shown with the next slot ${rate.nextSlotAt}`
    },
  ),
]

/** What is wrong with the shown usage of a concurrency limit. `numbersOf`: how many permits of a limit may be held. */
function usageFault(
  { body, query }: Read,
  numbersOf: (limit: string) => readonly number[],
): string | undefined {
  const { type, concurrency } = body as LimitUsage
  if (!concurrency) return undefined
  const { key, value, held, holders = [] } = concurrency
  const asked = query.value as string | undefined
  if (key !== undefined && asked === undefined)
    return held === undefined ? undefined : `${type} is shown with permits of no ${key}`
  const limit = limitName(type, key, fieldValue({ value: asked ?? '' }, 'value'))
  if (!numbersOf(limit).some(number => number === held))
    return `${held} permits of ${limit} are said to be held`
  if (value !== (key === undefined ? undefined : asked)) return `${type} shows the usage of ${value}`
  const isLongestFirst = holders.every(
    ({ since }, nth) => nth === 0 || since >= (holders[nth - 1]?.since ?? ''),
  )
  if (!isLongestFirst) return `${limit} shows its holders as ${JSON.stringify(holders)}`
  return holders.length === held ? undefined : `${limit} shows ${holders.length} of ${held} holders`
}

/** Whether the planner reads every change exactly once. */
function isExact({ hasReaders, weather, outages, lost, trial, conditions }: Scenario): boolean {
  const { skewMs, stepMs, ...shares } = weather
  const isStill = Object.values(shares).every(share => share === 0)
  return (
    hasReaders === true &&
    isStill &&
    skewMs + stepMs === 0 &&
    !outages &&
    !lost &&
    trial !== 'faults' &&
    !conditions
  )
}

type Failure = { readonly type: string; readonly id: string; readonly at: number; readonly count: number }

function createFailures() {
  const all: Failure[] = []
  return {
    see: ({ before, after }: Write) => {
      if (after.canvas || after.schedule) return
      const { id, type, updatedAt: at } = after
      const isSame = before?.born === after.born
      const runs = endedRuns(after).filter(
        ({ fence, state }) => (state === 'failed' || state === 'lost') && isSame && !before?.ended[fence],
      )
      // A flow that has undone its steps fails at last, and the failure that it was undone for has been counted.
      const isUndone = before?.flow?.direction === 'undo'
      // A caller that takes the retries away ends a task whose failed runs have been counted.
      const isByCaller = after.operation === 'patch' || after.operation === 'update'
      const failsNow =
        isSame && before?.state === 'open' && after.state === 'failed' && !isUndone && !isByCaller
      const count = runs.length > 0 ? runs.length : Number(failsNow)
      if (count > 0) all.push({ type, id, at, count })
    },
    judge: (groups: readonly ApiFailureGroup[]) => {
      for (const type of new Set(all.map(one => one.type))) {
        const own = groups.filter(group => group.type === type)
        const counted = sum(own.map(({ count }) => count))
        const expected = sum(all.filter(one => one.type === type).map(({ count }) => count))
        if (counted !== expected) return `${counted} failures of ${type} are counted, not ${expected}`
      }
      const wrong = groups.find(
        ({ exampleId, lastAt }) => !all.some(({ id, at }) => id === exampleId && at === Date.parse(lastAt)),
      )
      return wrong && `${wrong.exampleId} did not fail at ${wrong.lastAt}`
    },
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

const ENDED = ['succeeded', 'failed', 'cancelled'] as const

function createActivity() {
  const ends = new Map<string, number>()
  const starts = new Map<string, number[]>()
  const endsOf = (type: string, state: string) => ends.get(`${type} ${state}`) ?? 0
  /** What is wrong with the numbers of ended tasks. */
  const endFault = ({ type, minutes }: ApiTypeActivity) => {
    const total = sum(ENDED.map(state => endsOf(type, state)))
    const wrong = ENDED.find(state => {
      const counted = sum(minutes.map(minute => minute[state]))
      return total <= ENDS_AT_ONCE_MAX ? counted !== endsOf(type, state) : counted > endsOf(type, state)
    })
    return wrong && `${JSON.stringify(minutes)} of ${type} has not ${endsOf(type, wrong)} tasks that ${wrong}`
  }
  /** What is wrong with the lateness, if all starts are counted and known. */
  const latenessFault = ({ type, minutes, lateness }: ApiTypeActivity) => {
    const known = starts.get(type) ?? []
    const areAllKnown = sum(minutes.map(({ started }) => started)) === known.length
    if (!lateness || !areAllKnown || known.some(Number.isNaN)) return undefined
    const wrong = wrongShare(known, 0.5, lateness.p50Ms) ?? wrongShare(known, 0.95, lateness.p95Ms)
    return wrong && `the lateness of ${type} is told as ${JSON.stringify(lateness)}: ${wrong}`
  }
  return {
    see: ({ before, after }: Write) => {
      if (after.canvas || after.schedule) return
      const { type, state } = after
      if (endsNow(before, after)) ends.set(`${type} ${state}`, endsOf(type, state) + 1)
      if (before?.born !== after.born) return
      const began = liveRuns(after).some(({ fence }) => !before.live[fence])
      // A claim may move the due time to the retry of another worker, and then nothing tells when the run could have started.
      const lateness = before.dueAt === after.dueAt ? latenessIn(after) : Number.NaN
      if (began) starts.set(type, [...(starts.get(type) ?? []), lateness])
    },
    judge: (types: readonly ApiTypeActivity[]) =>
      types.map(one => endFault(one) ?? latenessFault(one)).find(fault => fault !== undefined),
  }
}

/** Whether the write ends the task. The cancel of a canvas also ends members that were not published yet. */
function endsNow(before: SeenHead | undefined, { born, state, operation }: SeenHead): boolean {
  const mayEnd = before?.born !== born || before.state === 'open' || operation === 'resume'
  return mayEnd && state !== 'open' && state !== 'removed'
}

/** How long the run that has just begun could have begun before: since its task was due, or since the end of the run before it. */
function latenessIn(after: SeenHead): number {
  const steps = Object.values(after.flow?.steps ?? {}).flatMap(({ do: done, undo }) => [
    done.endedAt,
    undo?.endedAt,
  ])
  const ends = [...endedRuns(after).map(({ endedAt }) => endedAt), ...steps].filter(end => end !== undefined)
  return Math.max(0, after.updatedAt - Math.max(after.dueAt, ...ends))
}

/** Why a bound of a share is wrong: at least the share is within the bound, and not within half of it. */
function wrongShare(all: readonly number[], share: number, boundMs: number): string | undefined {
  const within = (ms: number) => all.filter(one => one <= ms).length
  if (within(boundMs) < share * all.length)
    return `only ${within(boundMs)} of ${all.length} are within ${boundMs} ms`
  const isTight = boundMs <= 1 || within(boundMs / 2) < share * all.length
  return isTight ? undefined : `${within(boundMs / 2)} of ${all.length} are within half of ${boundMs} ms`
}

/** How many permits of each limit are held, and since when. */
function createPermits() {
  const held = new Map<string, Array<{ readonly at: number; readonly number: number }>>()
  return {
    see: (event: HistoryEvent) => {
      if (event.what !== 'permit') return
      const { limit, at, isHeld } = event
      const numbers = held.get(limit) ?? [{ at: 0, number: 0 }]
      held.set(limit, [...numbers, { at, number: (numbers.at(-1)?.number ?? 0) + (isHeld ? 1 : -1) }])
    },
    /** The numbers that were true at some time of the window. */
    numbers: (limit: string, { from, at }: { readonly from: number; readonly at: number }) => {
      const numbers = held.get(limit) ?? [{ at: 0, number: 0 }]
      const first = numbers.findLastIndex(one => one.at <= from)
      return numbers.slice(Math.max(0, first)).flatMap(one => (one.at <= at ? one.number : []))
    },
  }
}
