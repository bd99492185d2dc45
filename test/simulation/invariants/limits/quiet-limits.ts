import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import type { RateLimit } from '../../../../shared/core/types/task-type.ts'
import type { Scenario, TypeSetup } from '../../scenario.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn } from '../pieces.ts'

/** What tasks need besides the time that their limit takes: to reach a process, or to be asked for by an HTTP worker, which others may overtake. */
const STARTED_WITHIN_MS = { lambda: 2_000, workers: 2_000, http: 15_000 } as const
/** A task whose limit is free begins as soon as one without a limit. */
const FREE_WITHIN_MS = 400
/** A task that lost the race for a permit among many others, or whose ticket went to another one, is dispatched again after 4 s. */
const RACED_WITHIN_MS = 9_000
/** Few tasks wait for fewer permits than this. */
const FEW_PERMITS = 8
/** The share of its period by which a slot may lie behind the first time that the limit allows. */
const SPACED = 1.05
/** A permit of a run that has just ended may not be given back yet. */
const GIVEN_BACK_WITHIN_MS = 1_500

/** A standalone worker waits in place for a slot that is 7.5 s ahead, less some time for its calls. */
const WAITED_IN_PLACE_MS = 6_000

/** The tasks that a limit counts by one value of its key. */
type Counted = {
  readonly ids: string[]
  readonly published: number[]
  /** When runs started, as the limit counts them, and when they ended. */
  readonly started: number[]
  readonly ended: number[]
  /** How many of them have joined the line. */
  waits: number
}

/** Promises about limits where nothing else delays a task: few tasks, nothing goes wrong, and no operator changes anything. */
export const QUIET_LIMIT_INVARIANTS: readonly Invariant[] = [
  onQuietWrites(
    'where nothing goes wrong, a task starts as soon as its limit allows it, and each value of a key has a limit of its own',
    (tasks, type, write) => {
      const run = claimIn(write)
      if (!run) return undefined
      const nth = tasks.started.indexOf(run.startedAt)
      const from = earliest(tasks, type, nth)
      const lateMs = run.startedAt - from
      return lateMs > withinMs(type, tasks.waits === 0 && from === tasks.published[nth])
        ? `${write.after.id} starts ${Math.round(lateMs)} ms after its limit allows it`
        : undefined
    },
  ),
  onQuietWrites(
    'where nothing goes wrong, a task waits for a limit only if as many others of its value use the limit or wait',
    (tasks, type, write) => {
      const { after, at } = write
      if (!isWait(write)) return undefined
      const others = using(tasks, type, at) - 1
      return others < mostOf(type)
        ? `${after.id} waits for a limit that only ${others} others use or wait for`
        : undefined
    },
  ),
  onQuietWrites(
    'where nothing goes wrong, the first task behind a rate limit waits in place in a standalone worker for a near slot, which costs nothing',
    (tasks, type, write) => {
      const isFirst = isWait(write) && tasks.waits === 1
      const { servedBy, ordering, limits: { rate } = {} } = type
      if (!isFirst || !rate || servedBy !== 'workers' || ordering) return undefined
      const aheadMs = foreseen(tasks, rate, tasks.ids.indexOf(write.after.id)) - write.at
      return aheadMs < WAITED_IN_PLACE_MS
        ? `${write.after.id} joins a line for a slot that is ${Math.round(aheadMs)} ms ahead`
        : undefined
    },
  ),
]

function isWait({ after }: Write): boolean {
  return /^(block|throttle)$/.test(after.operation)
}

/** When the limit allows the nth start, though starts before it have not been recorded yet. */
function foreseen(tasks: Counted, rate: RateLimit, nth: number): number {
  const { published, started } = tasks
  const before = nth - rate.limit
  const free = before < 0 ? 0 : (started[before] ?? foreseen(tasks, rate, before)) + rate.perMs
  return Math.max(published[nth] ?? 0, free)
}

/** A promise about each write of a task that a limit counts, given the tasks that are counted with it. */
function onQuietWrites(
  name: string,
  judge: (tasks: Counted, type: TypeSetup, write: Write) => string | undefined,
): Invariant {
  return {
    name,
    watch: scenario => {
      if (!scenario.isMetered) return {}
      const types = scenario.types.filter(({ limits }) => limits)
      const counted = new Map(types.map(type => [type.type, { type, see: createCounted(scenario, type) }]))
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { type, see } = counted.get(event.after.type) ?? {}
          const tasks = see?.(event)
          return type && tasks && judge(tasks, type, event)
        },
      }
    },
  }
}

function withinMs(type: TypeSetup, isFree: boolean): number {
  if (type.ordering || mostOf(type) > FEW_PERMITS) return RACED_WITHIN_MS
  return isFree && type.servedBy !== 'http' ? FREE_WITHIN_MS : STARTED_WITHIN_MS[type.servedBy]
}

function mostOf({ limits }: TypeSetup): number {
  return limits?.rate?.limit ?? limits?.concurrency?.max ?? 0
}

/** When the limit allows the nth start. All starts before it are known. */
function earliest({ published, started, ended }: Counted, type: TypeSetup, nth: number): number {
  const { rate } = type.limits ?? {}
  const before = nth - mostOf(type)
  const free = rate ? (started[before] ?? 0) + SPACED * rate.perMs : (ended[before] ?? 0)
  return Math.max(published[nth] ?? 0, free)
}

/** How many tasks wait, run, or have used the limit just now. */
function using({ published, started, ended }: Counted, { limits }: TypeSetup, at: number): number {
  const { rate } = limits ?? {}
  const past = rate
    ? started.filter(time => time + SPACED * rate.perMs + GIVEN_BACK_WITHIN_MS < at)
    : ended.filter(time => time + GIVEN_BACK_WITHIN_MS < at)
  return published.length - past.length
}

/** Counts the tasks by the values of the limit's key, which the scenario knows. */
function createCounted({ steps }: Scenario, { limits }: TypeSetup) {
  const key = limits?.rate?.key ?? limits?.concurrency?.key
  const values = new Map<string, string>(
    steps.flatMap(step => {
      if (step.do !== 'publish') return []
      const { type, key: taskKey, userId } = step.request
      const value = key === 'shop' ? step.shop : userId
      return [[`${type}:${taskKey}`, key === undefined ? '' : `${value}`] as const]
    }),
  )
  const counted = new Map<string, Counted>()
  return (write: Write): Counted | undefined => {
    const value = values.get(write.after.id)
    if (value === undefined) return undefined
    const tasks = counted.get(value) ?? { ids: [], published: [], started: [], ended: [], waits: 0 }
    counted.set(value, tasks)
    seeWrite(tasks, write)
    return tasks
  }
}

function seeWrite(tasks: Counted, write: Write): void {
  const { after, before, at } = write
  const run = claimIn(write)
  if (run) insert(tasks.started, run.startedAt)
  if (isWait(write)) tasks.waits += 1
  if (before && liveRuns(before as Task).length > liveRuns(after as Task).length) tasks.ended.push(at)
  if (before) return
  tasks.ids.push(after.id)
  tasks.published.push(at)
}

function insert(times: number[], time: number): void {
  times.push(time)
  times.sort((a, b) => a - b)
}
