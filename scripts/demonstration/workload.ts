import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import { chain, chord } from '../../shared/define/canvases.ts'
import { FLAKY_REFUSALS, inOneLine, wordsOf } from './http-worker.ts'
import type { DemoCanvas, DemoTask, Types } from './pieces.ts'
import { blocks, countByPattern, digestOf, paragraphs, range } from './pieces.ts'

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

/** The schema of the handler refuses such a URL. The one that the API knows cannot express this. */
function refusedInput(index: number) {
  return { url: `https://me@example.com/${index}` }
}

function fatal(index: number): DemoTask {
  return {
    group: 'fatal',
    publication: { type: 'word-count', key: `fatal-${index}`, input: refusedInput(index) },
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

const STAGED_TASKS = 6
/** Of the tasks with callbacks, this many must succeed, and as many must fail. */
const TASKS_PER_END = 4

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
        input: status === 'failed' ? refusedInput(index) : { text: texts[(index * 13) % texts.length] ?? '' },
        onSuccess: [{ type: 'note', tags: { after: 'succeeded' } }],
        onError: [{ type: 'note', tags: { after: 'failed' } }],
      },
      expected: { status, runs: 1 },
    })),
  )
}

const SAGAS = 20
/** The receiver refuses one of this many sagas at every attempt. */
const REFUSED_EVERY = 5
const ANNOUNCE_ATTEMPTS = 2

/** The steps of a saga: a Lambda function counts a text, the HTTP worker digests it, and a webhook announces it. */
const STEPS = [
  { name: 'count', do: { type: 'word-count' }, undo: { type: 'forget' } },
  { name: 'digest', do: { type: 'digest' }, undo: { type: 'forget' } },
  {
    name: 'announce',
    do: {
      type: 'announce',
      retry: { maxRetries: ANNOUNCE_ATTEMPTS - 1, backoff: 'fixed' as const, delayMs: 200 },
    },
    undo: { type: 'retract' },
  },
]
const ANNOUNCE = STEPS.length - 1

/** The types of the sagas, except those that the HTTP worker serves. */
export function sagaTypes(receiverUrl: string): Types {
  return {
    announce: { kind: 'webhook', webhook: { url: `${receiverUrl}/announce`, allowPrivate: true } },
    retract: { kind: 'webhook', webhook: { url: `${receiverUrl}/hook`, allowPrivate: true } },
    edition: { kind: 'flow', steps: STEPS },
  }
}

/** Makes sagas whose steps run on three kinds of workers. The receiver refuses some sagas for good; these undo all their steps. */
function sagas(texts: readonly string[]): DemoTask[] {
  return range(SAGAS).map(index => {
    const text = texts[index % texts.length] ?? ''
    return index % REFUSED_EVERY === REFUSED_EVERY - 1 ? refused(index, text) : published(index, text)
  })
}

function published(index: number, text: string): DemoTask {
  return {
    group: 'sagas',
    publication: { type: 'edition', key: `edition-${index}`, input: { text } },
    expected: {
      status: 'succeeded',
      runs: STEPS.length,
      problem: task => stepsProblem(task, 'succeeded', [1, 1, 1]) ?? paramsProblem(task, text),
    },
  }
}

/** A saga that the receiver refuses because of its key. */
function refused(index: number, text: string): DemoTask {
  return {
    group: 'sagas undone',
    publication: { type: 'edition', key: `refused-${index}`, input: { text } },
    expected: {
      status: 'failed',
      problem: task => stepsProblem(task, 'undone', [1, 1, ANNOUNCE_ATTEMPTS]) ?? orderProblem(task),
    },
  }
}

/** Returns the problem in the states and attempts of a saga that reached its last step; undefined if there is none. */
function stepsProblem(
  { steps = [], cursor }: ApiTask,
  state: ApiStep['state'],
  attempts: readonly number[],
): string | undefined {
  const seen = steps.map(step => `${step.name} ${step.state} after ${step.attempts}`).join(', ')
  const right = STEPS.map(({ name }, index) => `${name} ${state} after ${attempts[index]}`).join(', ')
  if (seen !== right) return `its steps are: ${seen}; instead of: ${right}`
  return cursor === ANNOUNCE ? undefined : `its cursor is ${cursor} instead of ${ANNOUNCE}`
}

/** Returns the problem in the results that a step received from earlier steps; undefined if there is none. */
function paramsProblem({ params = {} }: ApiTask, text: string): string | undefined {
  const { words, lines } = countByPattern(text)
  const { count, digest } = params as { count?: { words?: number; lines?: number }; digest?: string }
  if (count?.words !== words || count.lines !== lines) return 'its later steps received another count'
  return digest === digestOf(text) ? undefined : 'its later steps received another digest'
}

/** Returns the problem in the order of undos: each step must be undone once, a later step before an earlier one. */
function orderProblem({ steps = [] }: ApiTask): string | undefined {
  const undone = steps.map(({ undo }) => undo)
  if (undone.some(undo => undo?.attempts !== 1)) return 'a step was not undone exactly once'
  const inOrder = undone.every((undo, index) => {
    const later = undone[index + 1]
    return !later || timeOf(undo?.startedAt) >= timeOf(later.endedAt)
  })
  return inOrder ? undefined : 'its steps were not undone in reverse order'
}

function timeOf(time: string | undefined): number {
  return time === undefined ? Number.NaN : Date.parse(time)
}
