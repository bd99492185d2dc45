import { describeSteps } from '../../core/flow/flow.ts'
import { attempts } from '../../core/task/piece.ts'
import { endedRuns, type Task } from '../../core/task/task.ts'
import { defined } from '../../core/values/json.ts'
import type { Explained, SentenceFacts } from './explained.ts'
import { countText, errorText, namesText, spanText, timeText } from './words.ts'

/** The sentences about tasks that have ended, and about flows that stand half undone. */

export function explainSucceeded({ task, now, path }: SentenceFacts): Explained {
  const last = endedRuns(task)
    .filter(({ state }) => state === 'succeeded')
    .sort((a, b) => b.endedAt - a.endedAt)[0]
  const by = last ? `, by a run of ${last.workerId} that took ${spanText(last.endedAt - last.startedAt)}` : ''
  return {
    sentence: `${task.id} succeeded at ${timeText(endOf(task), now)}${by}${runsText(task)}.`,
    next: `Nothing need be done. POST ${path}/retry starts it over.`,
    since: endOf(task),
    ...defined({ holder: last?.workerId }),
  }
}

export function explainFailed(facts: SentenceFacts): Explained {
  const { task, now, path, lastRun } = facts
  const error = task.error ? ` with ${errorText(task.error)}` : ''
  const undone = stepsIn(task, 'undone')
  const undoing = undone.length > 0 ? `; its steps ${namesText(undone)} were undone` : ''
  return {
    sentence: `${task.id} failed at ${timeText(endOf(task), now)}${error}${runsText(task)}${undoing}.`,
    next: `Repair the cause, then POST ${path}/retry starts it over.`,
    since: endOf(task),
    ...defined({ holder: lastRun?.workerId, log: lastRun?.log }),
  }
}

export function explainUndoFailed({ task, now, path }: SentenceFacts): Explained {
  const [step] = describeSteps(task).filter(({ state }) => state === 'undo-failed')
  const error = step?.record?.undo?.error
  return {
    sentence: `${task.id} stands half undone since ${timeText(endOf(task), now)}: the undo of its step ${step?.name ?? ''} failed for good${error ? ` with ${errorText(error)}` : ''}.`,
    next: `Repair the cause, then POST ${path}/retry with {"action": "retry-undo"}, or with "skip-undo" when you have undone the step yourself.`,
    since: endOf(task),
  }
}

export function explainCancelled({ task, now, path }: SentenceFacts): Explained {
  // A record from before a restart is of an earlier end.
  const last = task.operations?.findLast(({ what }) => ['cancel', 'retry', 'restart'].includes(what))
  const cancel = last?.what === 'cancel' ? last : undefined
  const withCanvas = task.member ? ' with its canvas' : ''
  const by = cancel ? ` by ${cancel.by}` : withCanvas
  const undone = stepsIn(task, 'undone')
  const undoing = undone.length > 0 ? `; its steps ${namesText(undone)} were undone` : ''
  return {
    sentence: `${task.id} was cancelled at ${timeText(cancel?.at ?? endOf(task), now)}${by}${undoing}.`,
    next: `Nothing need be done. POST ${path}/retry starts it over.`,
    since: endOf(task),
  }
}

export function explainCallbacksOwed({ task, now, path }: SentenceFacts): Explained {
  const [problem] = task.unpublished?.problems ?? []
  if (problem) {
    return {
      sentence: `${task.id} ${task.state} at ${timeText(endOf(task), now)} and owes callbacks that cannot be published: ${problem.path} ${problem.message}.`,
      next: `Repair the type, then POST ${path}/retry with {"action": "retry-callbacks"}. DELETE ${path} drops the callbacks.`,
      since: endOf(task),
    }
  }
  return {
    sentence: `${task.id} ${task.state} at ${timeText(endOf(task), now)}, and its callbacks are about to be published.`,
    next: 'Nothing need be done: it takes some seconds.',
    since: endOf(task),
  }
}

function endOf({ finishedAt, updatedAt }: Task): number {
  return finishedAt ?? updatedAt
}

/** How many runs a task used, and whether one was left. */
function runsText(task: Task): string {
  const { used, left } = attempts(task)
  if (task.state === 'succeeded') return used > 1 ? `, after ${countText(used, 'run')}` : ''
  if (used === 0) return ', before any run'
  return left > 0
    ? `, after ${countText(used, 'run')}`
    : `, after ${countText(used, 'run')}; no retry was left`
}

function stepsIn(task: Task, state: string): string[] {
  return describeSteps(task)
    .filter(step => step.state === state)
    .map(({ name }) => name)
}
