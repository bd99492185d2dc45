/**
 * Options say how a task is run: how often it is retried, how long its lease is, which workers may take it. The system has
 * defaults, a type may set its own, and a task may set its own; each layer overlays the one before it.
 *
 * The end of this file checks that given options fit together, and returns single options to their defaults.
 */

import { DEFAULT_RETENTION_MS } from './bounds.ts'
import type { BACKOFFS } from './states.ts'
import { defined, type FieldProblem } from './values/values.ts'

export type Backoff = (typeof BACKOFFS)[number]

/** How failures are retried. Delays are in milliseconds. */
export type Retry = {
  /** Retries after the first run: 3 means four runs at most. From 0 to 1,000. @default 3 */
  readonly maxRetries: number
  /**
   * How the delays grow: `exponential` (each twice the last), `fibonacci`, `fixed` (always `delayMs`), or `ladder` (those in `delaysMs`).
   * @default 'exponential'
   */
  readonly backoff: Backoff
  /** The first delay, in milliseconds. @default 1,000 */
  readonly delayMs: number
  /** The longest delay, in milliseconds. @default 60,000 */
  readonly maxDelayMs: number
  /** The ladder's delays, in milliseconds; the last one repeats. Only `backoff: 'ladder'` uses them. @default none */
  readonly delaysMs?: readonly number[]
  /** Share of a delay, 0–1, that chance may subtract from it. @default 0 */
  readonly jitter: number
  /** Whether `maxRetries` and the delays count for the task, or for each worker of a task for several. @default 'task' */
  readonly scope: 'task' | 'worker'
  /** How often a worker repeats the handler within one run before it reports the failure. From 0 to 100. @default 0 */
  readonly localRetries: number
}

/** Everything about a task that can be set per task, by its type, or left to the system. Durations are in milliseconds. */
export type Options = {
  /** How many different workers must succeed. At most as many workers run the task at a time. @default 1 */
  readonly concurrency: number
  /** The only workers that may claim the task. When the list is empty, any worker may. @default any worker */
  readonly workerIds: readonly string[]
  /** The lowest version of a worker that may claim the task: numbers with dots, such as `2.1`. @default any version */
  readonly minWorkerVersion?: string
  /** How often a run renews its lease, in milliseconds. Less than `leaseMs`. @default 5,000 */
  readonly heartbeatMs: number
  /** How long a run holds its task without a heartbeat, in milliseconds. Then another worker takes over. @default 15,000 */
  readonly leaseMs: number
  /** Time limit of one run, in milliseconds. A run that takes longer has failed, and may be retried. @default no limit */
  readonly timeoutMs?: number
  /** Time limit of the whole task, in milliseconds from its due time, retries included. @default no limit */
  readonly deadlineMs?: number
  /**
   * Whether each heartbeat stores the newest log lines of the handler, up to 1 KB, so that the log of a running task can be read. A heartbeat
   * that stores 1 KB costs 2 write units in place of 1, and so does each other write of the running task. @default false
   */
  readonly liveLog?: boolean
  /** How failed and lost runs are retried. @default the defaults of its members */
  readonly retry: Retry
  /** How long the task is kept after its end, in milliseconds. @default 604,800,000, which is 7 days */
  readonly retentionMs: number
}

const NAMES: Readonly<Record<keyof Options, true>> = {
  concurrency: true,
  workerIds: true,
  minWorkerVersion: true,
  heartbeatMs: true,
  leaseMs: true,
  timeoutMs: true,
  deadlineMs: true,
  retentionMs: true,
  liveLog: true,
  retry: true,
}

/** The names of all options. The compiler requires each. */
export const OPTION_NAMES = Object.keys(NAMES) as ReadonlyArray<keyof Options>

/** Options as users give them. Any member may be missing, at any depth. */
export type PartialOptions = Partial<Omit<Options, 'retry'>> & {
  /** How failed and lost runs are retried. @default each member that is left out keeps its default */
  readonly retry?: Partial<Retry>
}

export const DEFAULT_OPTIONS: Options = {
  concurrency: 1,
  workerIds: [],
  heartbeatMs: 5_000,
  leaseMs: 15_000,
  retry: {
    maxRetries: 3,
    backoff: 'exponential',
    delayMs: 1_000,
    maxDelayMs: 60_000,
    jitter: 0,
    scope: 'task',
    localRetries: 0,
  },
  retentionMs: DEFAULT_RETENTION_MS,
}

/** The options in force: the system's, overlaid by each layer in turn (a type's defaults, then the task's own). */
export function resolveOptions(...layers: readonly PartialOptions[]): Options {
  return layers.reduce<Options>(overlay, DEFAULT_OPTIONS)
}

function overlay(base: Options, layer: PartialOptions): Options {
  const { retry, ...rest } = layer
  return { ...base, ...defined(rest), retry: { ...base.retry, ...defined(retry ?? {}) } }
}

/** The options that differ from the system's defaults. A head stores only these. */
export function optionDifferences(options: Options): PartialOptions {
  const { retry, ...rest } = differences(options, DEFAULT_OPTIONS)
  return retry ? { ...rest, retry: differences(retry, DEFAULT_OPTIONS.retry) } : rest
}

function differences<T extends object>(value: T, base: Partial<T>): Partial<T> {
  const changed = Object.entries(value).filter(
    ([name, member]) => JSON.stringify(member) !== JSON.stringify(base[name as keyof T]),
  )
  return Object.fromEntries(changed) as Partial<T>
}

/** Heartbeats per lease, by default and where only one of the two is given. */
const BEATS_PER_LEASE = 3

type OverlaidOptions =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/**
 * Overlays the options in force with given ones. Given options must fit together. The other options adapt to them: a given lease
 * that is shorter than the default heartbeat also shortens the heartbeat.
 */
export function overlaidOptions(base: Options, given: PartialOptions): OverlaidOptions {
  const all = resolveOptions(base, given)
  const problems = [
    ...beatProblems(all, given),
    ...delayProblems(all.retry, given.retry ?? {}),
    ...workerProblems(all, given),
  ]
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, options: { ...all, ...fittingBeat(all, given), retry: fittingDelays(all.retry, given) } }
}

function beatProblems({ heartbeatMs, leaseMs }: Options, given: PartialOptions): FieldProblem[] {
  const bothGiven = given.heartbeatMs !== undefined && given.leaseMs !== undefined
  if (!bothGiven || heartbeatMs < leaseMs) return []
  return [{ path: 'heartbeatMs', message: `must be less than leaseMs, which is ${leaseMs}` }]
}

function delayProblems(all: Retry, given: Partial<Retry>): FieldProblem[] {
  const problems: FieldProblem[] = []
  const bothGiven = given.delayMs !== undefined && given.maxDelayMs !== undefined
  if (bothGiven && all.maxDelayMs < all.delayMs) {
    const message = `must be at least retry.delayMs, which is ${all.delayMs}`
    problems.push({ path: 'retry.maxDelayMs', message })
  }
  if (given.delaysMs && all.backoff !== 'ladder') {
    problems.push({ path: 'retry.delaysMs', message: 'is for retry.backoff "ladder" only' })
  }
  if (all.backoff === 'ladder' && !all.delaysMs) {
    problems.push({ path: 'retry.delaysMs', message: 'must list the delays of a ladder' })
  }
  return problems
}

function workerProblems({ concurrency, workerIds }: Options, given: PartialOptions): FieldProblem[] {
  if (workerIds.length === 0 || workerIds.length >= concurrency) return []
  const [path, conflict] =
    given.concurrency === undefined
      ? ['workerIds', `lists ${workerIds.length}, but concurrency is ${concurrency}`]
      : ['concurrency', `is ${concurrency}, but workerIds lists ${workerIds.length}`]
  return [{ path, message: `${conflict}; list at least ${concurrency} workers, or none` }]
}

function fittingBeat({ heartbeatMs, leaseMs }: Options, given: PartialOptions): Partial<Options> {
  if (heartbeatMs < leaseMs) return {}
  if (given.heartbeatMs !== undefined) return { leaseMs: heartbeatMs * BEATS_PER_LEASE }
  return { heartbeatMs: Math.max(1, Math.floor(leaseMs / BEATS_PER_LEASE)) }
}

function fittingDelays(retry: Retry, given: PartialOptions): Retry {
  const { delayMs, maxDelayMs } = retry
  if (delayMs <= maxDelayMs) return retry
  return given.retry?.maxDelayMs === undefined
    ? { ...retry, maxDelayMs: delayMs }
    : { ...retry, delayMs: maxDelayMs }
}

type Nullable<Members> = { readonly [Name in keyof Members]?: Members[Name] | null }

/** Options as a patch gives them. Null returns an option to the default of the task's type. */
export type PatchedOptions = Nullable<Omit<Options, 'retry'>> & { readonly retry?: Nullable<Retry> | null }

/** Whether a patch returns any option to its default. */
export function clears({ retry, ...rest }: PatchedOptions): boolean {
  return [retry, ...Object.values(rest), ...Object.values(retry ?? {})].includes(null)
}

/** The options after a patch. Options that it clears take their default, and options that it gives replace those in force. */
export function patchedOptions(
  inForce: Options,
  patched: PatchedOptions,
  defaults: Options,
): OverlaidOptions {
  const { retry = {}, ...rest } = patched
  const base = withDefaults(inForce, rest, defaults)
  const retried = retry === null ? defaults.retry : withDefaults(base.retry, retry, defaults.retry)
  const given: PartialOptions = { ...notNull(rest), ...(retry && { retry: notNull(retry) }) }
  return overlaidOptions({ ...base, retry: retried }, given)
}

/** The values in force, where each value that the patch clears is its default, or missing when it has no default. */
function withDefaults<Values extends object>(inForce: Values, patched: object, defaults: Values): Values {
  const cleared = Object.entries(patched).flatMap(([name, value]) => (value === null ? [name] : []))
  const kept = Object.entries(inForce).filter(([name]) => !cleared.includes(name))
  const restored = Object.entries(defaults).filter(([name]) => cleared.includes(name))
  return Object.fromEntries([...kept, ...restored]) as Values
}

function notNull<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], null | undefined> } {
  const given = Object.entries(members).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(given) as never
}
