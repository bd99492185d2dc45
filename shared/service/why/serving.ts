import { pieceOf, workOf } from '../../core/task/piece.ts'
import { liveRuns, successes } from '../../core/task/task.ts'
import { servingType } from '../../core/types/task-type.ts'
import { defined } from '../../core/values/json.ts'
import { awaitedWorkers } from '../../core/worker/own-retries.ts'
import type { Worker } from '../../core/worker/worker.ts'
import type { Explained, SentenceFacts } from './explained.ts'
import { countText, namesText, timeText } from './words.ts'

/** The sentences about tasks that run, or that no worker can take. */

/** Characters of a run's progress in a sentence. */
const PROGRESS_CHARACTERS_MAX = 100

export function explainRunning(facts: SentenceFacts): Explained {
  const { task, now, path } = facts
  const runs = liveRuns(task).sort((a, b) => a.startedAt - b.startedAt)
  const [run] = runs
  if (!run) {
    return {
      sentence: `${task.id} has all its successes, and the write of its end is under way.`,
      next: 'Nothing need be done.',
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
    next: `Nothing need be done. POST ${path}/cancel stops the run.`,
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

export function explainTargetWorker(facts: SentenceFacts): Explained {
  const { task, now, liveWorkers } = facts
  const awaited = awaitedWorkers(task)
  const live = awaited.filter(id => liveWorkers.some(({ workerId }) => workerId === id))
  const lastWorkerSeenAt = seenAt(liveWorkers, live)
  const seen = lastWorkerSeenAt === undefined ? '' : `, last seen at ${timeText(lastWorkerSeenAt, now)}`
  return {
    sentence: `${task.id} waits for ${namesText(live)}${seen}, which it lists and which is alive.`,
    next: 'Nothing need be done: that worker takes it with its next claim.',
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ holder: live[0], lastWorkerSeenAt }),
  }
}

export function explainTargetOffline({ task, path }: SentenceFacts): Explained {
  const awaited = awaitedWorkers(task)
  const names = awaited.length > 0 ? awaited : task.options.workerIds
  return {
    sentence: `${task.id} waits for ${namesText(names)}, which it lists and which ${names.length === 1 ? 'shows' : 'show'} no sign of life within the last 30 s.`,
    next: `Start that worker, or PATCH ${path} with other workerIds, or with null for any worker.`,
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ holder: names[0] }),
  }
}

export function explainVersion(facts: SentenceFacts): Explained {
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

export function explainSpent(facts: SentenceFacts): Explained {
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

export function explainNoWorker({ task, now, types }: SentenceFacts): Explained {
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

export function explainNoHandler({ task, now }: SentenceFacts): Explained {
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
