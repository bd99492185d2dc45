import type { DemoTask } from './demo-task.ts'
import { inOneLine } from './http-worker.ts'
import { digestOf, range } from './pieces.ts'

/** How many tasks have two stages. */
const STAGED_TASKS = 6
/** Of the tasks with callbacks, this many must succeed, and as many must fail. */
const TASKS_PER_END = 4

/** Makes tasks that the HTTP worker moves through two stages. */
export function staged(texts: readonly string[]): DemoTask[] {
  return range(STAGED_TASKS).map(index => {
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
          return result === digestOf(inOneLine(text)) ? undefined : 'the digest is wrong'
        },
      },
    }
  })
}

/** Makes tasks that publish a note at their end. Success and failure publish different notes. */
export function callingBack(texts: readonly string[]): DemoTask[] {
  return (['succeeded', 'failed'] as const).flatMap(status =>
    range(TASKS_PER_END).map(index => ({
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
