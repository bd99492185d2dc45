import { inOneLine } from './http-worker.ts'
import type { Job } from './job.ts'
import { digestOf, range } from './pieces.ts'

/** How many tasks have two stages. */
const STAGED = 6
/** How many must succeed, and how many must fail. */
const CALLING_BACK = 4

/** Tasks that the HTTP worker moves through two stages. */
export function staged(texts: readonly string[]): Job[] {
  return range(STAGED).map(index => {
    const text = texts[(index * 5) % texts.length] ?? ''
    return {
      group: 'two stages',
      publication: { type: 'proofread', key: `proof-${index}`, stage: 'tidy', input: { text } },
      expected: {
        status: 'succeeded',
        runs: 2,
        problem: ({ history, result }) => {
          const stages = history.map(({ stage, outcome }) => `${stage} ${outcome}`).join(', ')
          if (stages !== 'tidy succeeded, seal succeeded') return `its history is: ${stages}`
          return result === digestOf(inOneLine(text)) ? undefined : 'the digest is another'
        },
      },
    }
  })
}

/** Tasks that publish a note at their end. Success and failure have different notes. */
export function callingBack(texts: readonly string[]): Job[] {
  return (['succeeded', 'failed'] as const).flatMap(status =>
    range(CALLING_BACK).map(index => ({
      group: 'calling back',
      publication: {
        type: 'word-count',
        key: `${status}-${index}`,
        input: { text: status === 'failed' ? index : (texts[(index * 13) % texts.length] ?? '') },
        onSuccess: [{ type: 'note', tags: { after: 'succeeded' } }],
        onError: [{ type: 'note', tags: { after: 'failed' } }],
      },
      expected: { status, runs: 1 },
    })),
  )
}
