import type { ApiRun, ApiTask } from '../../shared/api/tasks.ts'

/** What happened to a task when, as spans of time. All times are milliseconds since the epoch. */

export type Span = {
  readonly from: number
  readonly to: number
  readonly kind: 'wait' | 'run' | 'lease'
}

export type Lane = {
  readonly state: ApiRun['state'] | 'wait'
  readonly run?: ApiRun
  readonly spans: readonly Span[]
}

export type Timeline = {
  readonly from: number
  readonly to: number
  readonly lanes: readonly Lane[]
}

const TICKS = 4
/** The steps between ticks, in milliseconds: round numbers of the units in which people count. */
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000],
  ...[1, 2, 5, 10, 15, 30].map(minutes => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map(hours => hours * 3_600_000),
  ...[1, 2, 7, 14, 30, 90, 365, 1_000].map(days => days * 86_400_000),
]

/** The lanes of a task: one for its life with its waits, and one for each run. Runs are in the order of their starts. */
export function timelineOf(task: ApiTask, now: number): Timeline {
  const runs = task.runs.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt))
  const from = Date.parse(task.createdAt)
  const isOpen = task.finishedAt === undefined
  // An open task waits until it is due, if that is still ahead.
  const end = isOpen ? Math.max(now, Date.parse(task.dueAt)) : Date.parse(task.finishedAt)
  const leases = runs.flatMap(run =>
    run.state === 'running' && run.leaseUntil ? [Date.parse(run.leaseUntil)] : [],
  )
  const waits: Lane = { state: 'wait', spans: waitsBetween(runs, from, end) }
  return {
    from,
    to: Math.max(end, from + 1, ...leases),
    lanes: [waits, ...runs.map(run => laneOf(run, now))],
  }
}

function laneOf(run: ApiRun, now: number): Lane {
  const from = Date.parse(run.startedAt)
  const isRunning = run.state === 'running'
  const to = isRunning ? now : Date.parse(run.endedAt ?? run.startedAt)
  const lease = run.leaseUntil === undefined ? 0 : Date.parse(run.leaseUntil)
  const spans: Span[] = [{ from, to: Math.max(from, to), kind: 'run' }]
  if (isRunning && lease > to) spans.push({ from: to, to: lease, kind: 'lease' })
  return { state: run.state, run, spans }
}

/** The times in which nothing ran. */
function waitsBetween(runs: readonly ApiRun[], from: number, end: number): Span[] {
  const waits: Span[] = []
  let free = from
  for (const run of runs) {
    const started = Date.parse(run.startedAt)
    if (started > free) waits.push({ from: free, to: started, kind: 'wait' })
    const ended = run.state === 'running' ? end : Date.parse(run.endedAt ?? run.startedAt)
    free = Math.max(free, ended)
  }
  if (end > free) waits.push({ from: free, to: end, kind: 'wait' })
  return waits
}

/** The distances from the beginning at which the axis has marks. */
export function ticksOf({ from, to }: Pick<Timeline, 'from' | 'to'>): number[] {
  const length = to - from
  const step = STEPS.find(one => length / one <= TICKS + 1) ?? length
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step)
}
