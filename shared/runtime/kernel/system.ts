import { HTTP_WRITE_MS_MAX } from '../../core/bounds.ts'
import type { Change, Operator } from '../../core/change.ts'
import type { Head } from '../../core/task/head.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
import { BatonError, type FieldProblem, type Json } from '../../core/values/values.ts'
import type { Chance, Clock, Log, Metrics } from '../../ports/machine.ts'
import type { FarTimers, Messages, Resender } from '../../ports/messages.ts'
import type * as stores from '../../ports/stores.ts'

/**
 * The stores, queues, clocks and logs that a use case works with. Each entry point composes one `System` from its
 * adapters; tests compose it from memory stores.
 */
export type System = {
  readonly clock: Clock
  readonly chance: Chance
  readonly tasks: stores.TaskStore
  readonly types: stores.TypeStore
  readonly canvases: stores.CanvasStore
  readonly records: stores.RecordStore
  readonly limits: stores.LimitStore
  readonly turns: stores.TurnStore
  readonly failures: stores.FailureStore
  readonly targets: stores.Targets
  readonly workers: stores.WorkerStore
  readonly messages: Messages
  readonly log: Log
  readonly metrics: Metrics
  /** The hooks that add to each change of a head, called in this order: `CHANGE_HOOKS` of `change-hooks.ts`. */
  readonly changeHooks: readonly ChangeHook[]
  /** Whether every run stores its newest log lines each second, as the local system does. @default where the option `liveLog` asks for it */
  readonly hasLiveLogs?: boolean
  /** The operator in whose name a request changes tasks. Set only in a system that serves this one request. */
  readonly operator?: Operator
  /**
   * The problems of an input that arrives, by the schema of its type. Set only in a system that serves a request with inputs from outside
   * (`service/requests/compare-inputs.ts`).
   */
  readonly checkInput?: (
    configuration: TypeConfiguration,
    input: Json | undefined,
  ) => Promise<readonly FieldProblem[]>
}

/** The part of a system that counts the activity of types, or shows it. Handlers and workers need not load the code for it. */
export type ActivitySystem = { readonly activity: stores.ActivityStore }

/** A `System` for processes that set timers further ahead than a queue can delay a message, and count what has changed. */
export type PlanningSystem = System & ActivitySystem & { readonly timers: FarTimers }

/**
 * A `System` for processes that show activity, explain dead letters and send them again. Handlers and workers need not load the code for
 * them.
 */
export type DiagnosticSystem = System &
  ActivitySystem & {
    readonly deadLetters: stores.DeadLetterStore
    readonly resender: Resender
  }

/** A feature's part in each change of a head. The kernel calls the hooks without knowing the features. */
export type ChangeHook = {
  /** Called before the write: returns the change with the feature's additions. */
  prepare?(system: System, change: Change): Promise<Change>
  /** Called when the prepared change was refused, since another writer was faster. */
  refused?(system: System, change: Change): void
  /** Called after the write. `before` is the head that the writer held. Must not throw, since the change is stored. */
  written?(system: System, before: Head | undefined, after: Head): Promise<void>
}

/**
 * An instant by both clocks of a process. Neither clock alone measures elapsed time safely. The wall clock may be set back
 * by a time service, or when a virtual machine resumes. The monotonic clock may stop while a sandbox is frozen. So
 * the clock that shows more elapsed time counts.
 */
export type Moment = { readonly wall: number; readonly monotonic: number }

export function momentOf(clock: Pick<Clock, 'now' | 'monotonic'>): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() }
}

/** The milliseconds that have passed since the moment, by the clock that shows more. */
export function elapsedSince(clock: Pick<Clock, 'now' | 'monotonic'>, since: Moment): number {
  return Math.max(clock.now() - since.wall, clock.monotonic() - since.monotonic)
}

/**
 * Whether less than `ms` have passed since the moment, by both clocks. False after a clock was set back, because then the
 * elapsed time is unknown.
 */
export function isWithin(clock: Pick<Clock, 'now' | 'monotonic'>, since: Moment, ms: number): boolean {
  const isSetBack = clock.now() < since.wall || clock.monotonic() < since.monotonic
  return !isSetBack && elapsedSince(clock, since) < ms
}

/** Timers may fire a millisecond early, and the two clocks of a process round differently. */
const SLACK_MS = 50

/**
 * Waits until the wall clock shows `time`, not a millisecond less: an early claim is refused as not due. A clock that is
 * set back meanwhile does not prolong the wait.
 */
export async function sleepUntil(clock: Clock, time: number): Promise<void> {
  const since = momentOf(clock)
  const sleepMsMax = time - since.wall + SLACK_MS
  for (let left = time - since.wall; left > 0; left = time - clock.now()) {
    const restMs = sleepMsMax - elapsedSince(clock, since)
    if (restMs <= 0) return
    await clock.sleep(Math.min(left, restMs))
  }
}

/** A cached value. It was read at `readAt` or later. */
export type Known<Value> = { readonly value: Value; readonly readAt: Moment }

/** A cache that reads each value once per lifetime, however often it is asked for. */
type TimedCache<Value> = {
  /** The value under the name. It is read again when the cached one is older than the lifetime. A failed read is not cached. */
  get(
    clock: Pick<Clock, 'now' | 'monotonic'>,
    name: string,
    read: () => Promise<Value>,
  ): Promise<Known<Value>>
  /** Drops the value: the next `get` reads it again. */
  forget(name: string): void
}

/** A cache of at most `maxEntries` values. A full cache drops them all. */
export function createTimedCache<Value>(lifetimeMs: number, maxEntries = 1_000): TimedCache<Value> {
  const entries = new Map<string, { readonly readAt: Moment; readonly read: Promise<Known<Value>> }>()
  return {
    get: (clock, name, read) => {
      const known = entries.get(name)
      if (known && isWithin(clock, known.readAt, lifetimeMs)) return known.read
      if (entries.size >= maxEntries) entries.clear()
      const readAt = momentOf(clock)
      const entry = { readAt, read: read().then(value => ({ value, readAt })) }
      entries.set(name, entry)
      entry.read.catch(() => {
        if (entries.get(name) === entry) entries.delete(name)
      })
      return entry.read
    },
    forget: name => void entries.delete(name),
  }
}

/** Reads the value of each name once. For one round or batch, so that all of it sees the same values. */
export function onceEach<Value>(read: (name: string) => Promise<Value>): (name: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>()
  return name => {
    const value = known.get(name) ?? read(name)
    known.set(name, value)
    return value
  }
}

/**
 * Creates a memory of this process for a store or a queue, such as a cache, a wait list or a measured latency. The memory is kept by the
 * identity of its owner, so that two systems in one process, as in tests, share nothing. It lives as long as its owner.
 */
export function processMemory<Value>(create: () => Value): (owner: object) => Value {
  const byOwner = new WeakMap<object, Value>()
  return owner => {
    const known = byOwner.get(owner) ?? create()
    byOwner.set(owner, known)
    return known
  }
}

/** The time by which an HTTP request that begins now must have written the heartbeats and reports of runs that it carries. */
export function endOfRequest({ clock }: System): number {
  return clock.now() + HTTP_WRITE_MS_MAX
}

/**
 * The result of `work`, if it ends before `until`. Work that has begun continues after that time, so repeating it must be
 * safe.
 *
 * @throws BatonError `unavailable` when the work did not end in time. `what` says what has not happened.
 */
export async function inTime<T>(
  { clock }: System,
  until: number,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const late = () => new BatonError('unavailable', `${what} in time: repeating it is safe`)
  const leftMs = until - clock.now()
  if (leftMs <= 0) throw late()
  const done = new AbortController()
  const timeout = clock.sleep(leftMs, done.signal).then(() => Promise.reject(late()))
  timeout.catch(() => undefined)
  return Promise.race([work(), timeout]).finally(() => done.abort())
}
