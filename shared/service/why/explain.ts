import { pathOf } from '../../api/endpoints.ts'
import type { TaskReason, WhyFacts } from '../../core/status/why.ts'
import {
  explainCallbacksOwed,
  explainCancelled,
  explainFailed,
  explainSucceeded,
  explainUndoFailed,
} from './ended.ts'
import type { Explained, SentenceFacts } from './explained.ts'
import {
  explainNoHandler,
  explainNoWorker,
  explainRunning,
  explainSpent,
  explainTargetOffline,
  explainTargetWorker,
  explainVersion,
} from './serving.ts'
import {
  explainBacklog,
  explainCrashing,
  explainDeadLettered,
  explainDispatched,
  explainDue,
  explainPaused,
  explainPermit,
  explainRate,
  explainRetry,
  explainStepPaused,
  explainStuck,
} from './waiting.ts'

const SENTENCES: Readonly<Record<TaskReason, (known: SentenceFacts) => Explained>> = {
  due: explainDue,
  retry: explainRetry,
  paused: explainPaused,
  'rate-limit': explainRate,
  'concurrency-limit': explainPermit,
  'target-worker': explainTargetWorker,
  'no-handler': explainNoHandler,
  'no-worker': explainNoWorker,
  'callbacks-owed': explainCallbacksOwed,
  'step-paused': explainStepPaused,
  'target-offline': explainTargetOffline,
  'worker-version': explainVersion,
  'workers-spent': explainSpent,
  crashing: explainCrashing,
  backlog: explainBacklog,
  dispatched: explainDispatched,
  stuck: explainStuck,
  'dead-lettered': explainDeadLettered,
  running: explainRunning,
  'undo-failed': explainUndoFailed,
  succeeded: explainSucceeded,
  failed: explainFailed,
  cancelled: explainCancelled,
}

/** Writes the sentence for a reason, and the next step. */
export function explain(reason: TaskReason, facts: WhyFacts): Explained {
  return SENTENCES[reason]({ ...facts, path: pathOf('get', facts.task.id) })
}
