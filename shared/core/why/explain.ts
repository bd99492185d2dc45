import {
  explainCallbacksOwed,
  explainCancelled,
  explainFailed,
  explainSucceeded,
  explainUndoFailed,
} from './ended.ts'
import type { Explained, WhyFacts } from './facts.ts'
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
import type { TaskReason } from './why.ts'

const SENTENCES: Readonly<Record<TaskReason, (facts: WhyFacts) => Explained>> = {
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
  return SENTENCES[reason](facts)
}
