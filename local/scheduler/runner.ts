import { randomUUID } from 'node:crypto'
import { nextFiring, readExpression, type Schedule, type ScheduleStore, type Target } from './schedules.ts'

/** A timer of Node lasts at most 24.8 days. A check each minute also notices that the machine slept. */
const TIMER_MS_MAX = 60_000

/** After the machine slept, a recurring schedule fires only for the missed times within this span. */
const CATCH_UP_MS = 1000

/** The service's retries when a schedule has no retry policy. */
const RETRIES_MAX = 185
/** The service's maximum age of an event when a schedule has no retry policy. */
const EVENT_AGE_S_MAX = 86_400

const retryDelayMs = (attempt: number) => Math.min(1000 * 2 ** (attempt - 1), 60_000)

/** An event that Scheduler gives up, as the dead-letter queue gets it. */
export type Undelivered = {
  readonly input: string
  readonly error: string
  readonly attempts: number
  readonly exhausted: 'MaximumRetryAttempts' | 'MaximumEventAgeInSeconds'
}

type Parts = {
  readonly store: ScheduleStore
  /** Throws when the target could not be reached. */
  invoke(target: Target, input: string, schedule: Schedule): Promise<void>
  deadLetter(queueArn: string, lost: Undelivered, schedule: Schedule): Promise<void>
  readonly log: (line: string) => void
}

type Running = {
  readonly parts: Parts
  readonly earliest: (schedules: readonly Schedule[]) => Due | undefined
  readonly retries: Set<NodeJS.Timeout>
  offsetMs: number
  isStopped: boolean
  timer: NodeJS.Timeout | undefined
}

export type ScheduleRunner = ReturnType<typeof createScheduleRunner>

export function createScheduleRunner(parts: Parts) {
  const running: Running = {
    ...{ parts, earliest: createDueTimes(Date.now()), retries: new Set() },
    ...{ offsetMs: 0, isStopped: false, timer: undefined },
  }
  return {
    now: () => nowOf(running),
    /** Moves Scheduler time forward and fires the schedules that become due, in order. */
    advance: async (ms: number) => {
      running.offsetMs += ms
      fireDue(running, 'each')
    },
    /** Fires a schedule now, whatever its expression says. */
    fire: (schedule: Schedule) => deliver(running, schedule, nowOf(running), 1),
    rearm: () => rearm(running),
    stop: () => {
      running.isStopped = true
      clearTimeout(running.timer)
      for (const retry of running.retries) clearTimeout(retry)
    },
  }
}

/** Scheduler time in Unix ms: the machine's clock plus the time that tests have added. */
function nowOf({ offsetMs }: Running): number {
  return Date.now() + offsetMs
}

/** Sets the timer for the schedule that is due next. Called after every change of the schedules. */
function rearm(running: Running): void {
  clearTimeout(running.timer)
  if (running.isStopped) return
  const next = running.earliest(running.parts.store.list())
  if (!next) return
  const leftMs = Math.min(Math.max(0, next.at - nowOf(running)), TIMER_MS_MAX)
  running.timer = setTimeout(fireDue, leftMs, running, 'latest')
}

function fireDue(running: Running, missed: 'each' | 'latest'): void {
  const { earliest, parts } = running
  const until = nowOf(running)
  let next = earliest(parts.store.list())
  while (next && next.at <= until && !running.isStopped) {
    const { schedule, at } = next
    complete(running, schedule, missed === 'each' ? at : Math.max(at, until - CATCH_UP_MS))
    void deliver(running, schedule, at, 1)
    next = earliest(parts.store.list())
  }
  rearm(running)
}

/** The firing is recorded before the target answers, so that the next check does not find the schedule due again. */
function complete({ earliest, parts: { store } }: Running, schedule: Schedule, at: number): void {
  const ended = earliest([{ ...schedule, firedAt: at }]) === undefined
  if (ended && schedule.ActionAfterCompletion === 'DELETE') store.delete(schedule)
  else store.markFired(schedule, at)
}

async function deliver(running: Running, schedule: Schedule, at: number, attempt: number): Promise<void> {
  const { parts } = running
  const { Target: target } = schedule
  const input = fillIn(target.Input ?? '{}', schedule, at, attempt)
  try {
    await parts.invoke(target, input, schedule)
  } catch (cause) {
    parts.log(`schedule ${schedule.Name} could not invoke its target: ${cause}`)
    const exhausted = exhaustedBy(target.RetryPolicy, attempt, nowOf(running) - at)
    if (exhausted)
      return giveUp(schedule, { input, error: String(cause), attempts: attempt, exhausted }, parts)
    retryLater(running, schedule, at, attempt)
  }
}

function retryLater(running: Running, schedule: Schedule, at: number, attempt: number): void {
  const { retries, isStopped } = running
  if (isStopped) return
  const retry = setTimeout(() => {
    retries.delete(retry)
    void deliver(running, schedule, at, attempt + 1)
  }, retryDelayMs(attempt))
  retries.add(retry)
}

/** The condition of the policy under which an event is given up. Undefined when it is tried again. */
function exhaustedBy(
  { MaximumRetryAttempts = RETRIES_MAX, MaximumEventAgeInSeconds = EVENT_AGE_S_MAX }: Policy = {},
  attempt: number,
  ageMs: number,
): Undelivered['exhausted'] | undefined {
  if (attempt > MaximumRetryAttempts) return 'MaximumRetryAttempts'
  return ageMs > MaximumEventAgeInSeconds * 1000 ? 'MaximumEventAgeInSeconds' : undefined
}

type Policy = NonNullable<Target['RetryPolicy']>

async function giveUp(schedule: Schedule, lost: Undelivered, { deadLetter, log }: Parts) {
  const { Name, Target } = schedule
  const queueArn = Target.DeadLetterConfig?.Arn
  if (!queueArn) return log(`schedule ${Name} lost an event: it has no dead-letter queue`)
  await deadLetter(queueArn, lost, schedule).catch(cause =>
    log(`schedule ${Name} could not send a dead letter: ${cause}`),
  )
}

type Due = { readonly schedule: Schedule; readonly at: number }

/** Makes a function that finds the schedule that fires first. It caches due times by the schedule's value, which never changes. */
function createDueTimes(begin: number) {
  const known = new WeakMap<Schedule, { at: number | undefined }>()

  function dueTime(schedule: Schedule) {
    const found = known.get(schedule) ?? { at: computeDueTime(schedule, begin) }
    known.set(schedule, found)
    return found.at
  }

  return (schedules: readonly Schedule[]): Due | undefined => {
    let found: Due | undefined
    for (const schedule of schedules) {
      const at = dueTime(schedule)
      if (at !== undefined && (!found || at < found.at)) found = { schedule, at }
    }
    return found
  }
}

/**
 * The time at which a schedule fires next. A one-time schedule that has missed its time is due at once. The times that a recurring
 * schedule missed before `watchedSince` are skipped.
 */
function computeDueTime(schedule: Schedule, watchedSince: number): number | undefined {
  if (schedule.State === 'DISABLED') return undefined
  const timing = readExpression(schedule.ScheduleExpression, schedule.ScheduleExpressionTimezone)
  if (!timing) return undefined
  if (timing.kind === 'once') return schedule.firedAt === undefined ? timing.at : undefined
  const begin = (schedule.StartDate ?? schedule.CreationDate) * 1000
  const changed = schedule.LastModificationDate * 1000
  const at = nextFiring(timing, begin, Math.max(schedule.firedAt ?? 0, begin - 1, changed, watchedSince))
  const ended = at !== undefined && schedule.EndDate !== undefined && at > schedule.EndDate * 1000
  return ended ? undefined : at
}

/** Replaces the context attributes in a target's input. */
function fillIn(input: string, schedule: Schedule, at: number, attempt: number) {
  return input
    .replaceAll('<aws.scheduler.schedule-arn>', schedule.Arn)
    .replaceAll('<aws.scheduler.scheduled-time>', new Date(at).toISOString().replace(/\.\d+Z$/, 'Z'))
    .replaceAll('<aws.scheduler.execution-id>', randomUUID())
    .replaceAll('<aws.scheduler.attempt-number>', String(attempt))
}
