import type { SourceFault } from '../source-fault.ts'

/** Faults in how runs end and are tried again, in repairs, schedules and sagas. */
export const RUN_FAULTS: readonly SourceFault[] = [
  {
    name: 'the sweeper sends no look that a run needs',
    replacements: [
      {
        path: 'shared/runtime/sweep/lost-tasks.ts',
        old: 'if (lookAt !== undefined && lookAt + LOOK_SLACK_MS < now - GRACE_MS) {',
        new: 'if (lookAt !== undefined && lookAt < 0) {',
      },
    ],
  },
  {
    name: 'the grace of a schedule is two minutes shorter',
    replacements: [
      {
        path: 'shared/core/schedule.ts',
        old: 'now - tick > graceMs ||',
        new: 'now - tick > graceMs - 120_000 ||',
      },
    ],
  },
  {
    name: 'a run that fails after the deadline leaves its task open',
    replacements: [
      {
        path: 'shared/core/run/finish.ts',
        old: "if (after.operation === 'succeed' || !isPastDeadline(after, now)) return change",
        new: 'if (after.revision > 0 || !isPastDeadline(after, now)) return change',
      },
    ],
  },
  {
    name: 'the retry budget allows one retry too many',
    replacements: [
      {
        path: 'shared/core/run/judge-budget.ts',
        old: "if (retry.scope === 'task') return task.failures <= retry.maxRetries",
        new: "if (retry.scope === 'task') return task.failures <= retry.maxRetries + 1",
      },
    ],
  },
  {
    name: 'a ladder begins with its second delay',
    replacements: [
      {
        path: 'shared/core/run/backoff.ts',
        old: 'delays[Math.min(retryNumber, delays.length) - 1]',
        new: 'delays[Math.min(retryNumber + 1, delays.length) - 1]',
      },
    ],
  },
  {
    name: 'a step whose undo has ended may be undone again',
    harmless:
      'undos go backwards from the failed step, and an operator resumes the steps only when none before the failed one is undone; the failed one then begins again without its undo',
    replacements: [
      {
        path: 'shared/core/flow/pieces.ts',
        old: 'const isNotUndone = flow.steps[at]?.undo?.endedAt === undefined',
        new: 'const isNotUndone = true',
      },
    ],
  },
  {
    name: 'the failure of one worker delays all workers, though each has retries of its own',
    replacements: [
      {
        path: 'shared/core/worker.ts',
        old: 'if (!delaysWorkerAlone(draft.options) || isInvocation(workerId)) {',
        new: 'if (draft || isInvocation(workerId)) {',
      },
    ],
  },
  {
    name: 'no look announces the retry of a single worker',
    replacements: [
      {
        path: 'shared/core/wake.ts',
        old: '  if (!waitsForMinute) times.push(nextOwnRetryAt(task) ?? Number.POSITIVE_INFINITY)\n',
        new: '',
      },
    ],
  },
  {
    name: 'a worker claims before its own retry is due',
    replacements: [
      {
        path: 'shared/core/run/claim.ts',
        old: "  if (waitsForOwnRetry(task, claimer.workerId, now)) return 'waits-for-own-retry'\n",
        new: '',
      },
    ],
  },
]
