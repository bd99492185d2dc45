import { canvases } from './canvases.ts'
import type { DemoCanvas, DemoTask } from './demo-task.ts'
import { digestOf, paragraphs, range } from './pieces.ts'
import { FLAKY_REFUSALS } from './receiver.ts'
import { sagas } from './sagas.ts'
import { callingBack, staged } from './staged.ts'

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
