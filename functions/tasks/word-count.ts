import * as z from 'zod'
import { NO_USER_IN_URL, namesUser } from '../../shared/core/types/webhook.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { Fatal } from '../../shared/signals.ts'
import { type Policy, systemResolver } from '../guarded-fetch/checked-addresses.ts'
import {
  failureMessageOf,
  type GuardedAnswer,
  guardedFetch,
  isSuccess,
  shownUrl,
  textOf,
} from '../guarded-fetch/guarded-fetch.ts'

const TEXT_BYTES_MAX = 10_000_000
const FETCH_TIMEOUT_MS = 15_000
const TOP_WORDS = 10

/** Counts the words of a text in the input, or of a text that it fetches from a public address. It is an example of a real handler. */
export const wordCount = wordCountWith({
  resolve: systemResolver,
  allowPrivate: false,
  privateHint: 'texts are fetched from public addresses only: give the text itself as input.text',
})

/** Makes the handler. `policy` says which addresses it may fetch from. */
export function wordCountWith(policy: Policy) {
  return defineTask('word-count', {
    input: z.union([
      z.strictObject({ text: z.string() }),
      z.strictObject({
        url: z.url({ protocol: /^https?$/ }).refine(url => !namesUser(url), NO_USER_IN_URL),
      }),
    ]),
    timeoutMs: 20_000,
    retry: { maxRetries: 3, backoff: 'exponential', delayMs: 500, maxDelayMs: 10_000 },
    async run(input, { signal, progress }) {
      const text = 'text' in input ? input.text : await fetchText(new URL(input.url), signal, policy)
      progress({ characters: text.length })
      return countWords(text)
    },
  })
}

async function fetchText(url: URL, signal: AbortSignal, policy: Policy): Promise<string> {
  const answer = await guardedFetch(url, {
    method: 'GET',
    headers: { 'user-agent': 'Baton-Word-Count', accept: 'text/*', 'accept-encoding': 'identity' },
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: TEXT_BYTES_MAX,
    signal,
    ...policy,
  })
  if (answer.status === 404 || answer.status === 410) throw new Fatal(failureMessageOf(url, answer))
  if (!isSuccess(answer)) throw new Error(failureMessageOf(url, answer))
  const problem = readProblem(answer)
  if (problem !== undefined) throw new Fatal(`the text at ${shownUrl(url)} ${problem}`)
  return textOf(answer)
}

/** Returns the end of a sentence that begins with the URL, or undefined for a text that can be read. */
function readProblem({ headers, isCut }: GuardedAnswer): string | undefined {
  if (isCut) return `has more than ${TEXT_BYTES_MAX} bytes, which is the limit`
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding === 'identity'
    ? undefined
    : `is encoded as ${encoding}: give a URL whose answer is not compressed`
}

/** Counts the words and distinct words of a text and finds the most frequent ones, in any language that Unicode segments. */
export function countWords(text: string) {
  const frequency = new Map<string, number>()
  let words = 0
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: 'word' }).segment(
    text,
  )) {
    if (!isWordLike) continue
    words++
    const word = segment.toLowerCase()
    frequency.set(word, (frequency.get(word) ?? 0) + 1)
  }
  const top = [...frequency].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, TOP_WORDS)
  return {
    words,
    distinct: frequency.size,
    lines: text === '' ? 0 : text.split('\n').length,
    top: top.map(([word, count]) => ({ word, count })),
  }
}
