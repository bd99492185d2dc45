import type { FieldProblem } from '../values/values.ts'
import { type Options, type PartialOptions, type Retry, resolveOptions } from './options.ts'

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
