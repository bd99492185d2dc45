import type { ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import type { Job, Types } from './job.ts'
import { countByPattern, digestOf, range } from './pieces.ts'

const SAGAS = 20
/** Every so many sagas one is refused by the receiver, however often it is asked. */
const REFUSED_EVERY = 5
const ANNOUNCE_ATTEMPTS = 2

/** An edition of a text is counted by a Lambda function, digested over HTTP and announced by a webhook. */
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

/** The types of the sagas beside those that the HTTP worker serves. */
export function sagaTypes(receiverUrl: string): Types {
  return {
    announce: { kind: 'webhook', webhook: { url: `${receiverUrl}/announce`, allowPrivate: true } },
    retract: { kind: 'webhook', webhook: { url: `${receiverUrl}/hook`, allowPrivate: true } },
    edition: { kind: 'flow', steps: STEPS },
  }
}

/** Sagas of three kinds of workers, some of which the receiver refuses for good: those undo all that they did. */
export function sagas(texts: readonly string[]): Job[] {
  return range(SAGAS).map(index => {
    const text = texts[index % texts.length] ?? ''
    return index % REFUSED_EVERY === REFUSED_EVERY - 1 ? refused(index, text) : published(index, text)
  })
}

function published(index: number, text: string): Job {
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

/** The receiver refuses it for its key. */
function refused(index: number, text: string): Job {
  return {
    group: 'sagas undone',
    publication: { type: 'edition', key: `refused-${index}`, input: { text } },
    expected: {
      status: 'failed',
      problem: task => stepsProblem(task, 'undone', [1, 1, ANNOUNCE_ATTEMPTS]) ?? orderProblem(task),
    },
  }
}

/** What is wrong with the states and attempts of a saga whose last step was reached. */
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

/** Each step got what those before it had found. */
function paramsProblem({ params = {} }: ApiTask, text: string): string | undefined {
  const { words, lines } = countByPattern(text)
  const { count, digest } = params as { count?: { words?: number; lines?: number }; digest?: string }
  if (count?.words !== words || count.lines !== lines) return 'it went on with another count'
  return digest === digestOf(text) ? undefined : 'it went on with another digest'
}

/** Undone once each, a later step before an earlier one. */
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
