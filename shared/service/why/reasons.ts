import type { StatusReason, TaskReason } from '../../core/status.ts'
import type { Explained } from './words.ts'

/*
 * What each reason of `why` means, for the tables of docs/waiting.md, which `npm run openapi` writes from here. `explain.ts` writes the
 * sentence about one task.
 */

type ReasonText = {
  /** Completes a sentence that begins with "the task". It is Markdown. */
  readonly means: string
  /** The facts that an answer with this reason may show as fields, besides its sentence and the next step. */
  readonly facts: ReadonlyArray<Exclude<keyof Explained, 'sentence' | 'next'>>
}

/** A reason that is a `statusReason`, too. `todo` completes the column "what to do". */
type StatusReasonText = ReasonText & { readonly todo: string }

/** A reason that `statusReason` does not have. `shown` is the `statusReason` of the same task. */
type OwnReasonText = ReasonText & { readonly shown: 'none' | 'there is no task' | StatusReason }

type ReasonTexts = Readonly<
  Record<StatusReason, StatusReasonText> &
    Record<Exclude<TaskReason, StatusReason> | 'canvas' | 'skipped', OwnReasonText>
>

/** Every reason. Of several `statusReason`s that apply, a task shows the first in this order. */
export const REASON_TEXTS: ReasonTexts = {
  'callbacks-owed': {
    means: 'has ended, and its callbacks are not published yet, or cannot be',
    todo: 'nothing: it takes some seconds; with `needsAttention` see [below](#callbacks-that-cannot-be-published)',
    facts: ['since'],
  },
  due: {
    means: 'waits for its due time',
    todo: 'nothing, or change `dueAt`',
    facts: ['since', 'until'],
  },
  retry: {
    means: 'has a failed run, and its next run is [not due yet](#retries-of-single-workers)',
    todo: 'nothing, or change `dueAt`',
    facts: ['since', 'until', 'log'],
  },
  crashing: {
    means: 'waits after a lost run: the process of its handler ended, or sent no heartbeat',
    shown: 'retry',
    facts: ['since', 'until', 'log', 'holder'],
  },
  'type-not-allowed': {
    means: 'names work that [deployment does not allow its type](permissions.md#what-a-head-may-name)',
    todo: 'name the type of the step in `otherTypes` or in the grant, or cancel the task',
    facts: ['since'],
  },
  paused: {
    means: 'is of a paused type',
    todo: '`POST /v1/types/{type}/resume`',
    facts: ['since'],
  },
  'step-paused': {
    means: 'is a flow whose present step is of a paused type',
    shown: 'paused',
    facts: ['since'],
  },
  'concurrency-limit': {
    means: 'waits for a permit of a [concurrency limit](flow-control.md#concurrency-limits)',
    todo: 'wait, or raise `max`',
    facts: ['since', 'limit'],
  },
  'rate-limit': {
    means: 'waits for its slot; over HTTP, for the next free start',
    todo: 'wait, or raise `limit`',
    facts: ['until', 'limit'],
  },
  'no-handler': {
    means: 'needs a deployed handler or worker, and none is deployed',
    todo: 'deploy one: `addHandler`, `addWorkerQueue`, `addWorkerService`',
    facts: ['since'],
  },
  'target-worker': {
    means: 'waits for a listed worker, which is alive',
    todo: 'nothing; that worker takes it next',
    facts: ['since', 'holder', 'lastWorkerSeenAt'],
  },
  'target-offline': {
    means: 'waits for listed workers that show no sign of life',
    shown: 'no-worker',
    facts: ['since', 'holder'],
  },
  'worker-version': {
    means: 'waits for a worker of `minWorkerVersion` or higher',
    shown: 'no-worker',
    facts: ['since', 'lastWorkerSeenAt'],
  },
  'workers-spent': {
    means: 'waits for another worker: each live one has done its part, or has spent its retries',
    shown: 'no-worker',
    facts: ['since', 'lastWorkerSeenAt'],
  },
  'no-worker': {
    means: 'waits for any worker that serves its type',
    todo: 'start a worker, which may need a newer version; or change `workerIds` or `minWorkerVersion`',
    facts: ['since'],
  },
  stuck: {
    means: 'is [stuck](operations.md#stuck-tasks); the sentence has its last run, if that was lost',
    shown: 'none',
    facts: ['since', 'holder'],
  },
  backlog: {
    means: 'can be claimed, and others are ahead of it',
    shown: 'none',
    facts: ['since', 'queue'],
  },
  dispatched: {
    means: 'can be claimed, and nothing is ahead of it',
    shown: 'none',
    facts: ['since', 'queue'],
  },
  'dead-lettered': {
    means:
      'can be claimed, or its run is over, and the message for which it waits was [given up](operations.md#dead-letters)',
    shown: 'none',
    facts: ['since', 'deadLetterId'],
  },
  running: {
    means: 'runs; the sentence has the last sign of life of the run and its progress',
    shown: 'none',
    facts: ['since', 'until', 'holder', 'lastWorkerSeenAt'],
  },
  'undo-failed': { means: 'is a flow that is half undone', shown: 'none', facts: ['since'] },
  succeeded: {
    means: 'has succeeded: when, and after how many runs',
    shown: 'none',
    facts: ['since', 'holder'],
  },
  failed: {
    means: 'has failed: when, with which error, after how many runs, and which steps were undone',
    shown: 'none',
    facts: ['since', 'holder', 'log'],
  },
  cancelled: {
    means: 'was cancelled: when, by which operator, and which steps were undone',
    shown: 'none',
    facts: ['since'],
  },
  canvas: {
    means: 'is a member of a canvas and is not published yet, because it waits for other members',
    shown: 'there is no task',
    facts: [],
  },
  skipped: {
    means: 'is a member of a canvas and never runs',
    shown: 'there is no task',
    facts: [],
  },
}
