import { type Json, jsonBytes, sortedJson } from '../json.ts'
import { contentDigest, shortError } from '../task/body.ts'
import { digestOfResult, joinedDigest } from '../task/result.ts'
import type { Body } from '../task/task.ts'
import { fitError } from '../task-error/fit-error.ts'
import type { Outcome } from './finish.ts'
import type { RecordedEnd } from './run.ts'

/**
 * A worker that got no answer to its finish says it again. The same word is accepted again; another word about a run that
 * has ended is refused, since the run's end is on record and does not change.
 *
 * The record of a run shows its state and its result, and an error in short. What else the word said (the whole error,
 * `fatal`, a delay, the next stage) is kept as a digest of 32 bits beside the run. A plain success needs none, so most heads
 * keep none. Two words that differ have one digest once in 2^32 cases; the worker is then told what is stored all the same.
 */

/** The state in which each word leaves its run. */
const STATE_AFTER = { succeed: 'succeeded', fail: 'failed', release: 'released' } as const

/** The digest of what a word says beyond the state and the result of its run; undefined when that is nothing. */
export function reportDigest(word: Outcome): string | undefined {
  const rest = beyondTheResult(word)
  return Object.keys(rest).length === 0 ? undefined : contentDigest(rest)
}

/** As it is stored: texts are cut, and what equals its default is left out. The types name whatever a word may say. */
function beyondTheResult(word: Outcome): { readonly [name: string]: Json } {
  switch (word.outcome) {
    case 'succeed':
      return plain({ next: word.next && { ...word.next, delayMs: word.next.delayMs || undefined } })
    case 'fail':
      return plain({
        error: fitError(word.error),
        fatal: word.fatal || undefined,
        retryInMs: word.retryInMs,
        log: word.log,
      } satisfies Parts<'fail'>)
    case 'release':
      return plain({ delayMs: word.delayMs || undefined } satisfies Parts<'release'>)
  }
}

type Parts<Name extends Outcome['outcome']> = {
  [Part in Exclude<keyof Extract<Outcome, { outcome: Name }>, 'outcome'>]-?: unknown
}

function plain(value: object): { readonly [name: string]: Json } {
  return JSON.parse(JSON.stringify(value)) as { readonly [name: string]: Json }
}

/** Whether a run that ended so was ended by this very word. */
export function isSameReport(end: RecordedEnd, word: Outcome): boolean {
  if (end.cause !== undefined) return false
  // A move too many has failed its run.
  if (word.outcome === 'succeed' && word.next && end.state === 'failed')
    return end.reportDigest === wholeDigest(word)
  if (end.state !== STATE_AFTER[word.outcome]) return false
  switch (word.outcome) {
    case 'succeed':
      return end.past ? end.reportDigest === wholeDigest(word) : isSameSuccess(end, word)
    case 'fail':
      return end.reportDigest === undefined
        ? isSameShortError(end, word)
        : end.reportDigest === reportDigest(word)
    case 'release':
      return end.reportDigest === reportDigest(word)
  }
}

type Success = Extract<Outcome, { outcome: 'succeed' }>

/** The digest of all that a success says, where no record keeps its result. */
export function wholeDigest(word: Success): string | undefined {
  return joinedDigest(word.result === undefined ? undefined : contentDigest(word.result), reportDigest(word))
}

function isSameSuccess(end: RecordedEnd, word: Success): boolean {
  return isSameResult(end.result, word.result) && end.reportDigest === reportDigest(word)
}

function isSameResult(stored: Body | undefined, said: Json | undefined): boolean {
  if (!stored || said === undefined) return stored === undefined && said === undefined
  if ('inline' in stored) return sortedJson(stored.inline) === sortedJson(said)
  return stored.bytes === jsonBytes(said) && digestOfResult(stored) === contentDigest(said)
}

/** Of a failure that was recorded without a digest. */
function isSameShortError(end: RecordedEnd, { error }: Extract<Outcome, { outcome: 'fail' }>): boolean {
  const said = shortError(fitError(error))
  return end.error?.name === said.name && end.error.message === said.message
}
