import { pathOf } from '../../api/endpoints.ts'
import { describeSteps } from '../../core/flow/flow.ts'
import { undoneBefore } from '../../core/flow/resume.ts'
import type { TaskReason, WhyFacts } from '../../core/status.ts'
import { attempts, pieceOf, workOf } from '../../core/task/piece.ts'
import { endedRuns, liveRuns, successes, type Task } from '../../core/task/task.ts'
import { servingType } from '../../core/types/task-type.ts'
import { defined } from '../../core/values/values.ts'
import { awaitedWorkers, type Worker } from '../../core/worker.ts'
import * as waiting from './waiting.ts'
import type { Explained, SentenceFacts } from './words.ts'
import { countText, errorText, namesText, spanText, timeText } from './words.ts'

/*
 * The sentences about tasks: here those that run, that no worker can take or that have ended; `waiting.ts` has those about waits.
 */

const SENTENCES: Readonly<Record<TaskReason, (known: SentenceFacts) => Explained>> = {
  due: waiting.explainDue,
  retry: waiting.explainRetry,
  'type-not-allowed': waiting.explainNotAllowed,
  paused: waiting.explainPaused,
  'rate-limit': waiting.explainRate,
  'concurrency-limit': waiting.explainPermit,
  'target-worker': explainTargetWorker,
  'no-handler': explainNoHandler,
  'no-worker': explainNoWorker,
  'callbacks-owed': explainCallbacksOwed,
  'step-paused': waiting.explainStepPaused,
  'target-offline': explainTargetOffline,
  'worker-version': explainVersion,
  'workers-spent': explainSpent,
  crashing: waiting.explainCrashing,
  backlog: waiting.explainBacklog,
  dispatched: waiting.explainDispatched,
  stuck: waiting.explainStuck,
  'dead-lettered': waiting.explainDeadLettered,
  running: explainRunning,
  'undo-failed': explainUndoFailed,
  succeeded: explainSucceeded,
  failed: explainFailed,
  cancelled: explainCancelled,
}

export function explain(reason: TaskReason, facts: WhyFacts): Explained {
  return SENTENCES[reason]({ ...facts, path: pathOf('get', facts.task.id) })
}

function explainSucceeded({ task, now, path }: SentenceFacts): Explained {
  const last = endedRuns(task)
    .filter(({ state }) => state === 'succeeded')
    .sort((a, b) => b.endedAt - a.endedAt)[0]
  const by = last ? `, by a run of ${last.workerId} that took ${spanText(last.endedAt - last.startedAt)}` : ''
  return {
    sentence: `${task.id} succeeded at ${timeText(endOf(task), now)}${by}${runsText(task)}.`,
    next: `There is nothing to do. ${retryText(task, path)}`,
    since: endOf(task),
    ...defined({ holder: last?.workerId }),
  }
}

function explainFailed(facts: SentenceFacts): Explained {
  const { task, now, path, lastRun } = facts
  const error = task.error ? ` with ${errorText(task.error)}` : ''
  return {
    sentence: `${task.id} failed at ${timeText(endOf(task), now)}${error}${runsText(task)}${undoneText(task)}.`,
    next: `Repair the cause first. ${retryText(task, path)}`,
    since: endOf(task),
    ...defined({ holder: lastRun?.workerId, log: lastRun?.log }),
  }
}

/** What a retry of an ended task does. */
function retryText(task: Task, path: string): string {
  const { flow, state } = task
  if (!flow) return `POST ${path}/retry starts it over.`
  return state === 'failed' && undoneBefore(flow).length === 0
    ? `POST ${path}/retry does its step "${flow.definition.steps[flow.reachedStep]?.name}" again.`
    : `POST ${path}/retry with {"action": "restart"} does all its steps again.`
}

function explainUndoFailed({ task, now, path }: SentenceFacts): Explained {
  const [step] = describeSteps(task).filter(({ state }) => state === 'undo-failed')
  const error = step?.record?.undo?.error
  return {
    sentence: `${task.id} is half undone since ${timeText(endOf(task), now)}: the undo of its step ${step?.name ?? ''} failed for good${error ? ` with ${errorText(error)}` : ''}.`,
    next: `Repair the cause, then POST ${path}/retry with {"action": "retry-undo"}, or with "skip-undo" when you have undone the step yourself.`,
    since: endOf(task),
  }
}

function explainCancelled({ task, now, path }: SentenceFacts): Explained {
  // A record from before a restart is of an earlier end.
  const last = task.operations?.findLast(({ what }) => ['cancel', 'retry', 'restart'].includes(what))
  const cancel = last?.what === 'cancel' ? last : undefined
  const withCanvas = task.member ? ' with its canvas' : ''
  const by = cancel ? ` by ${cancel.by}` : withCanvas
  return {
    sentence: `${task.id} was cancelled at ${timeText(cancel?.at ?? endOf(task), now)}${by}${undoneText(task)}.`,
    next: `There is nothing to do. ${retryText(task, path)}`,
    since: endOf(task),
  }
}

function explainCallbacksOwed({ task, now, path }: SentenceFacts): Explained {
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
    next: 'There is nothing to do: it takes some seconds.',
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
  return `, after ${countText(used, 'run')}${left > 0 ? '' : '; no retry was left'}`
}

function undoneText(task: Task): string {
  const undone = describeSteps(task).filter(({ state }) => state === 'undone')
  return undone.length > 0 ? `; its steps ${namesText(undone.map(({ name }) => name))} were undone` : ''
}

/** Characters of a run's progress in a sentence. */
const PROGRESS_CHARACTERS_MAX = 100

function explainRunning(facts: SentenceFacts): Explained {
  const { task, now, path } = facts
  const runs = liveRuns(task).sort((a, b) => a.startedAt - b.startedAt)
  const [run] = runs
  if (!run) {
    return {
      sentence: `${task.id} has all its successes, and the write of its end is under way.`,
      next: 'There is nothing to do.',
    }
  }
  const lastBeatAt = run.leaseUntil - (run.leaseMs ?? task.options.leaseMs)
  const others = runs.length > 1 ? `, and ${countText(runs.length - 1, 'other worker')}` : ''
  const lease =
    run.leaseUntil > now
      ? `its lease lasts until ${timeText(run.leaseUntil, now)}`
      : `its lease ended at ${timeText(run.leaseUntil, now)}, and the loss of the run is about to be recorded`
  return {
    sentence: `${pieceText(facts)} is run by ${run.workerId}${others} since ${timeText(run.startedAt, now)}; ${lease}, and its last sign of life came at ${timeText(lastBeatAt, now)}${progressText(run.progress)}.`,
    next: `There is nothing to do. POST ${path}/cancel stops the run.`,
    since: run.startedAt,
    until: run.leaseUntil,
    holder: run.workerId,
    lastWorkerSeenAt: Math.max(lastBeatAt, seenAt(facts.liveWorkers, [run.workerId]) ?? 0),
  }
}

function pieceText({ task }: SentenceFacts): string {
  const piece = pieceOf(task)
  return piece === undefined ? task.id : `${piece} of ${task.id}`
}

function progressText(progress: unknown): string {
  if (progress === undefined) return ''
  const text = JSON.stringify(progress)
  const shown =
    text.length > PROGRESS_CHARACTERS_MAX ? `${text.slice(0, PROGRESS_CHARACTERS_MAX - 1)}…` : text
  return `, with the progress ${shown.toWellFormed()}`
}

function explainTargetWorker(facts: SentenceFacts): Explained {
  const { task, now, liveWorkers } = facts
  const awaited = awaitedWorkers(task)
  const live = awaited.filter(id => liveWorkers.some(({ workerId }) => workerId === id))
  const lastWorkerSeenAt = seenAt(liveWorkers, live)
  const seen = lastWorkerSeenAt === undefined ? '' : `, last seen at ${timeText(lastWorkerSeenAt, now)}`
  return {
    sentence: `${task.id} waits for ${namesText(live)}${seen}, which it lists and which is alive.`,
    next: 'There is nothing to do: that worker takes it with its next claim.',
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ holder: live[0], lastWorkerSeenAt }),
  }
}

function explainTargetOffline({ task, path }: SentenceFacts): Explained {
  const awaited = awaitedWorkers(task)
  const names = awaited.length > 0 ? awaited : task.options.workerIds
  return {
    sentence: `${task.id} waits for ${namesText(names)}, which it lists and which ${names.length === 1 ? 'shows' : 'show'} no sign of life within the last 30 s.`,
    next: `Start that worker, or PATCH ${path} with other workerIds, or with null for any worker.`,
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ holder: names[0] }),
  }
}

function explainVersion(facts: SentenceFacts): Explained {
  const { task, path, liveWorkers, types } = facts
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const handlerVersion = types.get(serving)?.handlerVersion
  const versions = [
    ...liveWorkers.filter(({ types: own }) => own.includes(serving)).map(({ version }) => version ?? 'none'),
    ...(handlerVersion === undefined ? [] : [handlerVersion]),
  ]
  const present = versions.length > 0 ? `; the live ones have ${namesText([...new Set(versions)])}` : ''
  return {
    sentence: `${task.id} waits for a worker of ${serving} with version ${task.options.minWorkerVersion} or higher${present}.`,
    next: `Deploy or start a newer worker, or PATCH ${path} with a lower minWorkerVersion.`,
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ lastWorkerSeenAt: seenAt(liveWorkers, idsServing(liveWorkers, serving)) }),
  }
}

function explainSpent(facts: SentenceFacts): Explained {
  const { task, path, liveWorkers } = facts
  const { type, kind } = workOf(task)
  const ids = idsServing(liveWorkers, servingType(type, kind))
  return {
    sentence: `${task.id} has ${countText(successes(task).length, 'success', 'successes')} of ${task.options.concurrency}, and no live worker may take it: ${namesText(ids)} did their part or spent their retries.`,
    next: `Start a worker with another id, or PATCH ${path} with a smaller concurrency.`,
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ lastWorkerSeenAt: seenAt(liveWorkers, ids) }),
  }
}

function explainNoWorker({ task, now, types }: SentenceFacts): Explained {
  const { type, kind } = workOf(task)
  const isByHttp = kind === 'http' || types.get(type)?.servedBy !== 'workers'
  const what = isByHttp ? 'claimed its tasks' : 'received from its queue'
  return {
    sentence: `${task.id} waits for a worker of ${type} since ${timeText(Math.max(task.dueAt, task.updatedAt), now)}: within the last 30 s none has ${what}.`,
    next: isByHttp
      ? `Start a worker that claims ${type}: POST /v1/claims with {"type": "${type}", "workerId": "…"}.`
      : `Start a worker that serves ${type}: addWorkerService, or createWorker.`,
    since: Math.max(task.dueAt, task.updatedAt),
  }
}

function explainNoHandler({ task, now }: SentenceFacts): Explained {
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  return {
    sentence: `${task.id} waits since ${timeText(Math.max(task.dueAt, task.updatedAt), now)} for a handler of ${serving}: none is deployed.`,
    next: `Deploy one: addHandler, addWorkerQueue or addWorkerService for ${serving}. Its tasks then run by themselves.`,
    since: Math.max(task.dueAt, task.updatedAt),
  }
}

function idsServing(workers: readonly Worker[], type: string): string[] {
  return workers.filter(({ types }) => types.includes(type)).map(({ workerId }) => workerId)
}

/** The last sign of life of any of these workers. */
function seenAt(workers: readonly Worker[], ids: readonly string[]): number | undefined {
  const seen = workers.filter(({ workerId }) => ids.includes(workerId)).map(({ lastSeen }) => lastSeen)
  return seen.length > 0 ? Math.max(...seen) : undefined
}
