import type { FieldProblem } from '../errors.ts'
import { type Options, type PartialOptions, type Retry, resolveOptions } from './options.ts'

/** Heartbeats per lease, by default and where only one of the two is given. */
const BEATS_PER_LEASE = 3

export type OverlaidOptions =
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
    problems.push({
      path: 'retry.maxDelayMs',
      message: `must be at least retry.delayMs, which is ${all.delayMs}`,
    })
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
  const listed = `list at least ${concurrency} workers, or none`
  return given.concurrency === undefined
    ? [
        {
          path: 'workerIds',
          message: `lists ${workerIds.length}, but concurrency is ${concurrency}; ${listed}`,
        },
      ]
    : [
        {
          path: 'concurrency',
          message: `is ${concurrency}, but workerIds lists ${workerIds.length}; ${listed}`,
        },
      ]
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
