import type { ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import type { DemoTask, Types } from './demo-task.ts'
import { countByPattern, digestOf, range } from './pieces.ts'

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
export function sagas(texts: readonly string[]): DemoTask[] {
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
