import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'
import { Fatal } from '../../shared/signals.ts'

const MAX_TEXT_BYTES = 10_000_000
const TOP_WORDS = 10

/** Counts the words of a text that is given or fetched: the example of a handler that does real work. */
export const wordCount = defineTask('word-count', {
  input: z.union([
    z.strictObject({ text: z.string() }),
    z.strictObject({ url: z.url({ protocol: /^https?$/ }) }),
  ]),
  timeoutMs: 20_000,
  retry: { maxRetries: 3, backoff: 'exponential', delayMs: 500, maxDelayMs: 10_000 },
  async run(input, { signal, progress }) {
    const text = 'text' in input ? input.text : await fetchText(input.url, signal)
    progress({ characters: text.length })
    return countWords(text)
  },
})

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal })
  if (response.status === 404 || response.status === 410)
    throw new Fatal(`${url} is not there (${response.status})`)
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const length = Number(response.headers.get('content-length') ?? 0)
  if (length > MAX_TEXT_BYTES)
    throw new Fatal(`${url} has ${length} bytes; at most ${MAX_TEXT_BYTES} are counted`)
  return response.text()
}

/** Words, distinct words and the most frequent ones of a text, in any language that Unicode can segment. */
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
