import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import type { RateLimit } from '../../../../shared/core/types/task-type.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn } from '../pieces.ts'

const MINUTE_MS = 60_000
/** The share of the possible starts that a line of tasks must use, except for one start. */
const USED_SHARE = 0.9
const COUNTED_PERIODS = { usual: 10, disturbed: 100 }
/** The shortest span in which disturbed starts are counted. A lost message may take two minutes to be repaired. */
const DISTURBED_MS_MIN = 40 * MINUTE_MS
/** A changed limit is acknowledged within seconds. Then a job reads the waiting tasks. */
const CHANGED_WITHIN_MS = 15_000

/** The tasks that wait behind one rate limit. */
type Line = {
  /** Since when there has always been a claimable task in it. */
  busySince: number | undefined
  /** When the last of its claimable tasks expires. */
  busyUntil: number
  /** For each waiting task: from when until when it may be claimed. */
  readonly waiting: Map<string, { readonly from: number; readonly until: number }>
  /** How many starts were possible by each write, from the first one on. */
  readonly possible: Possible[]
  starts: number[]
}

/** `starts` is a running sum. From `at` on, `waiting` tasks may be claimed: a period has as many starts, or as many as its limit. */
type Possible = { readonly at: number; readonly starts: number; readonly waiting: number }

/** Promises about the starts that a rate limit allows. `limits.ts` has the promises about those that it forbids. */
export const START_INVARIANTS: readonly Invariant[] = [
  {
    name: 'while claimable tasks wait behind a rate limit, the starts in any ten periods are nine tenths of the possible ones or more, less one',
    watch: scenario => {
      if (scenario.trial !== 'rates') return {}
      const lines = new Map<string, Line>()
      const limits = createLimits()
      return {
        on: event => {
          const changed = limits.see(event)
          if (changed !== undefined) lines.set(changed, renewed(lines.get(changed), event.at))
          if (event.what === 'write') {
            const { type } = event.after
            const line = lines.get(type) ?? renewed(undefined, event.at)
            lines.set(type, line)
            seeWrite(line, event, limits.of(type))
          }
          for (const [type, line] of lines) {
            const limit = limits.of(type)
            const idle = limit && idleIn(line, limit, event.at, scenario)
            if (idle) return `${type} had ${idle}, while claimable tasks waited`
          }
          return undefined
        },
      }
    },
  },
]

/** The rate limits of types. `see` returns the type whose limit an event has changed. */
function createLimits() {
  const limits = new Map<string, RateLimit | undefined>()
  return {
    of: (type: string) => limits.get(type),
    see: (event: HistoryEvent): string | undefined => {
      if (event.what !== 'type') return undefined
      const { type, configuration } = event.type
      const rate = configuration.limits?.rate
      const isChanged = limits.has(type) && JSON.stringify(limits.get(type)) !== JSON.stringify(rate)
      limits.set(type, rate)
      return isChanged ? type : undefined
    },
  }
}

/** The line under a limit that has just changed. Its starts are counted again. */
function renewed(line: Line | undefined, at: number): Line {
  const isBusy = line?.busySince !== undefined
  return {
    busySince: isBusy ? at + CHANGED_WITHIN_MS : undefined,
    busyUntil: line?.busyUntil ?? 0,
    waiting: line?.waiting ?? new Map(),
    possible: [],
    starts: [],
  }
}

function seeWrite(
  line: Line,
  event: Extract<HistoryEvent, { readonly what: 'write' }>,
  rate: RateLimit | undefined,
): void {
  const { after, at } = event
  if (claimIn(event)) line.starts.push(at)
  if (at >= line.busyUntil) line.busySince = undefined
  if (isWaiting(after))
    line.waiting.set(after.id, { from: after.dueAt, until: after.deadlineAt ?? Number.POSITIVE_INFINITY })
  else line.waiting.delete(after.id)
  const claimable = [...line.waiting.values()].filter(({ from, until }) => from <= at && at < until)
  line.busySince = claimable.length > 0 ? (line.busySince ?? at) : undefined
  line.busyUntil = Math.max(0, ...claimable.map(({ until }) => until))
  line.possible.push({ at, starts: rate ? possibleBy(line, rate, at) : 0, waiting: claimable.length })
}

/** How many starts were possible by a moment, counted from the first write. */
function possibleBy({ possible }: Line, { limit, perMs }: RateLimit, at: number): number {
  const before = possible.findLast(one => one.at <= at)
  if (!before) return 0
  return before.starts + (Math.min(before.waiting, limit) * (at - before.at)) / perMs
}

function isWaiting(task: Task): boolean {
  return task.state === 'open' && liveRuns(task).length === 0
}

/** How few starts there were in the span that ends now; undefined when they suffice. */
function idleIn(line: Line, rate: RateLimit, at: number, scenario: Scenario): string | undefined {
  const { limit, perMs } = rate
  const spanMs = spanOf(perMs, scenario)
  const from = at - spanMs
  if (line.busySince === undefined || line.busySince > from || at >= line.busyUntil) return undefined
  if (hadStarts(line, leastOf((limit * spanMs) / perMs), from)) return undefined
  // Fewer tasks than a period admits may wait. This sum is dear, so the cheaper question comes first.
  if (hadStarts(line, leastOf(possibleBy(line, rate, at) - possibleBy(line, rate, from)), from))
    return undefined
  const count = line.starts.filter(start => start > from).length
  return `${count} starts in ${Math.round(spanMs / 1_000)} s under a limit of ${limit} in ${perMs / 1_000} s`
}

function leastOf(possible: number): number {
  return Math.max(1, Math.ceil(USED_SHARE * possible - 1))
}

function hadStarts({ starts }: Line, least: number, from: number): boolean {
  const first = starts.at(-least)
  return first !== undefined && first > from
}

/** The span in which starts are counted: a longer one where messages are lost and processes die. */
function spanOf(perMs: number, { weather }: Scenario): number {
  if (weather.messageLost === 0) return COUNTED_PERIODS.usual * perMs
  return Math.max(COUNTED_PERIODS.disturbed * perMs, DISTURBED_MS_MIN)
}
