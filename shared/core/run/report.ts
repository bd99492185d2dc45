import { type Body, contentDigest } from '../task/head-fields.ts'
import { digestOfResult, joinedDigest } from '../task/piece.ts'
import { fitError, shortError } from '../task-error/task-error.ts'
import { type Json, jsonBytes, sortedJson } from '../values/values.ts'
import type { Outcome, OutcomeOf, RecordedEnd } from './run.ts'

/**
 * A worker that gets no answer to its report of a run's end sends the report again. The same report is accepted again. A different
 * report about an ended run is refused, because the recorded end does not change.
 *
 * The record of a run has its state, its result and a short form of its error. A digest of 32 bits beside the run covers the rest
 * of the report: the whole error, `fatal`, a delay, the next stage. A plain success needs no digest, so most heads keep none. Two
 * different reports have the same digest once in 2^32 cases. The worker then still gets the stored end as the answer.
 */

/** The state in which each outcome leaves its run. */
const STATE_AFTER = { succeed: 'succeeded', fail: 'failed', release: 'released' } as const

/** The report as stored: its error is cut to the size for which a record has room. */
export function fittedReport(report: Outcome): Outcome {
  return report.outcome === 'fail' ? { ...report, error: fitError(report.error) } : report
}

/** The digest of all that a fitted report says beyond its run's state and result; undefined when it says nothing else. */
export function reportDigest(report: Outcome): string | undefined {
  const rest = beyondTheResult(report)
  return Object.keys(rest).length === 0 ? undefined : contentDigest(rest)
}

/** The parts of a report beyond its result, without those that equal their default. The types require each part to be named. */
function beyondTheResult(report: Outcome): { readonly [name: string]: Json } {
  switch (report.outcome) {
    case 'succeed':
      return asJson({ next: report.next && { ...report.next, delayMs: report.next.delayMs || undefined } })
    case 'fail':
      return asJson({
        error: report.error,
        fatal: report.fatal || undefined,
        retryInMs: report.retryInMs,
        log: report.log,
      } satisfies Parts<'fail'>)
    case 'release':
      return asJson({ delayMs: report.delayMs || undefined } satisfies Parts<'release'>)
  }
}

type Parts<Name extends Outcome['outcome']> = {
  [Part in Exclude<keyof OutcomeOf<Name>, 'outcome'>]-?: unknown
}

function asJson(value: object): { readonly [name: string]: Json } {
  return JSON.parse(JSON.stringify(value)) as { readonly [name: string]: Json }
}

/** Whether the run ended by the same report. */
export function isSameReport(end: RecordedEnd, given: Outcome): boolean {
  if (end.cause !== undefined) return false
  const report = fittedReport(given)
  // A success whose `next` changed the stage too often was recorded as a failure.
  if (report.outcome === 'succeed' && report.next && end.state === 'failed') {
    return end.reportDigest === wholeDigest(report)
  }
  if (end.state !== STATE_AFTER[report.outcome]) return false
  switch (report.outcome) {
    case 'succeed':
      return end.past ? end.reportDigest === wholeDigest(report) : isSameSuccess(end, report)
    case 'fail':
      return end.reportDigest === undefined
        ? isSameShortError(end, report)
        : end.reportDigest === reportDigest(report)
    case 'release':
      return end.reportDigest === reportDigest(report)
  }
}

/** The digest of a whole success, for a run whose record keeps no result. */
export function wholeDigest(report: OutcomeOf<'succeed'>): string | undefined {
  const result = report.result === undefined ? undefined : contentDigest(report.result)
  return joinedDigest(result, reportDigest(report))
}

function isSameSuccess(end: RecordedEnd, report: OutcomeOf<'succeed'>): boolean {
  return isSameResult(end.result, report.result) && end.reportDigest === reportDigest(report)
}

function isSameResult(stored: Body | undefined, reported: Json | undefined): boolean {
  if (!stored || reported === undefined) return stored === undefined && reported === undefined
  if ('inline' in stored) return sortedJson(stored.inline) === sortedJson(reported)
  return stored.bytes === jsonBytes(reported) && digestOfResult(stored) === contentDigest(reported)
}

/** Compares a failure with a run that an earlier version recorded without a digest. */
function isSameShortError(end: RecordedEnd, { error }: OutcomeOf<'fail'>): boolean {
  const reported = shortError(error)
  return end.error?.name === reported.name && end.error.message === reported.message
}
