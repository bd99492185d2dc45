import type { ApiTask } from '../../shared/api/tasks.ts'
import { clockTime } from '../parts/format.ts'

/** Why an open task does not run, or how an ended one ended: one sentence for a reader. */
export function reasonSentence(task: ApiTask): string {
  const { status, error } = task
  if (status === 'succeeded') return 'It has succeeded.'
  if (status === 'cancelled') return 'It was cancelled.'
  if (status === 'failed') return error ? `It failed: ${error.name}.` : 'It failed.'
  if (status === 'compensating') return `A step failed for good. ${stepText(task)} is being undone.`
  if (status === 'running')
    return task.step === undefined ? 'A worker runs it.' : `A worker runs ${stepText(task)}.`
  return waitSentence(task)
}

function waitSentence(task: ApiTask): string {
  const { statusReason, dueAt, attempts } = task
  switch (statusReason) {
    case 'due':
      return `It waits for its time, ${clockTime(dueAt)}.`
    case 'retry':
      return `A run has failed. The next one begins at ${clockTime(dueAt)}; ${attempts.left} are left.`
    case 'paused':
      return `The type ${task.type} is paused. Resume it to let its tasks run.`
    case 'rate-limit':
      return `It waits for its slot under the rate limit, at ${clockTime(dueAt)}.`
    case 'concurrency-limit':
      return 'It waits until another run gives its permit back.'
    case 'target-worker':
      return `It waits for one of its workers: ${task.options.workerIds.join(', ')}.`
    case 'no-handler':
      return `Nothing serves ${task.stepType ?? task.type} yet. Deploy a handler, or start a worker.`
    case 'no-worker':
      return `No worker serves ${task.stepType ?? task.type} at the moment. Start one.`
    case 'callbacks-owed':
      return 'It has ended, and owes callbacks that could not be published yet.'
    default:
      return 'It can run, and waits for a worker to claim it.'
  }
}

function stepText({ step }: ApiTask): string {
  return step === undefined ? 'It' : `Step ${step}`
}
