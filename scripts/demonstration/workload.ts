import type { ApiCanvas } from '../../shared/api/canvases.ts'
import { chain, chord } from '../../shared/define/canvases.ts'
import type { DemoCanvas, DemoTask } from './demo-task.ts'
import { inOneLine, wordsOf } from './http-worker.ts'
import { blocks, countByPattern, digestOf, paragraphs, range } from './pieces.ts'
import { FLAKY_REFUSALS } from './receiver.ts'
import { sagas } from './sagas.ts'

const WORD_COUNT_TASKS = 60
const DELAYED_TASKS = 40
const WEBHOOK_TASKS = 20
const FLAKY_TASKS = 20
const FATAL_TASKS = 10
const DIGEST_TASKS = 20
/** Delays are spread over this span, and most do not end at a whole second. Lateness is so measured between whole seconds, too. */
const [FIRST_DELAY_MS, DELAY_SPAN_MS] = [1_500, 5_000]

/**
 * Makes some 250 tasks on real texts. Some of them must fail. Every twentieth word count has a whole text as input, and the system
 * stores such an input apart from its task.
 */
export function workload(
  texts: ReadonlyMap<string, string>,
  receiverUrl: string,
): { demoTasks: DemoTask[]; canvases: DemoCanvas[] } {
  const pieces = paragraphs(texts)
  return {
    demoTasks: [
      ...plain([...texts.values()], pieces, receiverUrl),
      ...sagas(pieces),
      ...staged(pieces),
      ...callingBack(pieces),
    ],
    canvases: canvases(texts, pieces),
  }
}

function plain(wholes: readonly string[], pieces: readonly string[], receiverUrl: string): DemoTask[] {
  const piece = (index: number) => pieces[index % pieces.length] ?? ''
  return [
    ...range(WORD_COUNT_TASKS).map(i =>
      i % 20 === 0
        ? counted('word counts', `whole-${i}`, wholes[(i / 20) % wholes.length] ?? '')
        : counted('word counts', `piece-${i}`, piece(i)),
    ),
    ...range(DELAYED_TASKS).map(i => delayed(i, piece(i * 7))),
    ...range(WEBHOOK_TASKS).map(i => webhook(i, `${receiverUrl}/hook`)),
    ...range(FLAKY_TASKS).map(i => flaky(i, `${receiverUrl}/flaky`)),
    ...range(FATAL_TASKS).map(fatal),
    ...range(DIGEST_TASKS).map(i => digest(i, piece(i * 3))),
  ]
}

function counted(group: string, key: string, text: string): DemoTask {
  return {
    group,
    publication: { type: 'word-count', key, input: { text } },
    expected: { status: 'succeeded', runs: 1, problem: ({ result }) => linesProblem(result, text) },
  }
}

/** Compares the number of lines, which shows that the right text was counted. */
function linesProblem(result: unknown, text: string): string | undefined {
  const { lines, words } = (result ?? {}) as { lines?: number; words?: number }
  const right = lines === text.split('\n').length && (words ?? 0) > 0
  return right ? undefined : `counted ${lines} lines instead of ${text.split('\n').length}`
}

function delayed(index: number, text: string): DemoTask {
  const demoTask = counted('delayed', `later-${index}`, text)
  const delayMs = Math.round(
    FIRST_DELAY_MS + (index * DELAY_SPAN_MS) / DELAYED_TASKS + ((index * 373) % 1_000),
  )
  return { ...demoTask, publication: { ...demoTask.publication, delayMs } }
}

function webhook(index: number, url: string): DemoTask {
  return {
    group: 'webhooks',
    publication: { type: 'webhook', key: `hook-${index}`, input: { url, order: index } },
    expected: { status: 'succeeded', runs: 1 },
  }
}

function flaky(index: number, url: string): DemoTask {
  const retry = { maxRetries: 3, backoff: 'fixed' as const, delayMs: 300 }
  return {
    group: 'failing, then retried',
    publication: { type: 'webhook', key: `flaky-${index}`, input: { url }, retry },
    expected: { status: 'succeeded', runs: FLAKY_REFUSALS + 1 },
  }
}

function fatal(index: number): DemoTask {
  return {
    group: 'fatal',
    publication: { type: 'word-count', key: `fatal-${index}`, input: { text: index } },
    expected: { status: 'failed', runs: 1 },
  }
}

function digest(index: number, text: string): DemoTask {
  return {
    group: 'HTTP worker',
    publication: { type: 'digest', key: `digest-${index}`, input: { text } },
    expected: {
      status: 'succeeded',
      runs: 1,
      problem: ({ result }) => (result === digestOf(text) ? undefined : 'the digest is wrong'),
    },
  }
}

/** The sizes of a chapter and of a block. A text is counted chapter by chapter, and a chapter block by block. */
const [CHAPTER_CHARACTERS, BLOCK_CHARACTERS] = [20_000, 4_000]
const CHAINS = 4

/** Makes chords that count each text, and chains that digest a count. */
function canvases(texts: ReadonlyMap<string, string>, pieces: readonly string[]): DemoCanvas[] {
  return [
    ...[...texts].flatMap(([name, text]) =>
      blocks(text, CHAPTER_CHARACTERS).map((chapter, index) => chordOf(`${name}-${index}`, chapter)),
    ),
    ...range(CHAINS).map(index => chainOf(index, pieces[(index * 11) % pieces.length] ?? '')),
  ]
}

function chordOf(key: string, chapter: string): DemoCanvas {
  const members = blocks(chapter, BLOCK_CHARACTERS).map(text => ({ type: 'word-count', input: { text } }))
  return {
    group: 'chords',
    key: `chord-${key}`,
    canvas: chord(members, { type: 'merge-counts' }),
    tasks: members.length + 1,
    problem: ({ result }) => {
      const { words, lines } = (result ?? {}) as { words?: number; lines?: number }
      const right = countByPattern(chapter)
      if (words === right.words && lines === right.lines) return undefined
      return `it adds up to ${words} words in ${lines} lines instead of ${wordsOf(right)}`
    },
  }
}

function chainOf(index: number, text: string): DemoCanvas {
  const digest = digestOf(wordsOf(countByPattern(text)))
  return {
    group: 'chains',
    key: `chain-${index}`,
    canvas: chain([{ type: 'word-count', input: { text } }, { type: 'digest' }]),
    tasks: 2,
    problem: ({ result }: ApiCanvas) =>
      result === digest ? undefined : 'its digest belongs to another count',
  }
}

/** How many tasks have two stages. */
const STAGED_TASKS = 6
/** Of the tasks with callbacks, this many must succeed, and as many must fail. */
const TASKS_PER_END = 4

/** Makes tasks that the HTTP worker moves through two stages. */
function staged(texts: readonly string[]): DemoTask[] {
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
function callingBack(texts: readonly string[]): DemoTask[] {
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
