import type { Replacement } from './changed-source.ts'

/** A fault of the source itself, as replacements of its text. */
export type SourceFault = {
  /** What the system does wrong, as a sentence. */
  readonly name: string
  readonly replacements: readonly Replacement[]
  /** Why the fault harms nothing. Such a fault is not found. */
  readonly harmless?: string
}

/**
 * Faults that are planted into the source. A planted fault that wraps a port (`../planted`) shows that an invariant works. These show
 * that the scenarios reach the line, too.
 */
export const SOURCE_FAULTS: readonly SourceFault[] = [
  {
    name: 'the permit of a failed run is kept when the task is tried again',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'if (!before || !isTask(before) || !isTask(after)) return []',
        new: 'if (!before || !isTask(before) || !isTask(after) || after.retrying) return []',
      },
    ],
  },
  {
    name: 'a slow claim does not confirm its permits',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'if (isWithin(system.clock, since, FRESH_HOLDER_MS)) return true',
        new: 'if (since || isWithin(system.clock, since, FRESH_HOLDER_MS)) return true',
      },
    ],
  },
  {
    name: 'the sweeper begins no looks at limits that tasks wait for',
    replacements: [
      {
        path: 'shared/runtime/limits/serve-limit-looks.ts',
        old: 'if (hasLiveWaitNote(permits, system.clock.now())) return',
        new: 'if (permits || hasLiveWaitNote(permits, system.clock.now())) return',
      },
    ],
  },
  {
    name: 'a claim uses its slot although the task has changed since',
    replacements: [
      {
        path: 'shared/runtime/claim/claim.ts',
        old: 'if (isCounted && current.revision !== seen.revision) return GONE\n',
        new: '',
      },
    ],
  },
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
    name: 'a head that owes callbacks may be deleted, and replaced',
    replacements: [
      {
        path: 'shared/core/task/fence.ts',
        old: 'if (expiresAt === undefined || owes) return undefined',
        new: 'if (expiresAt === undefined) return undefined',
      },
      {
        path: 'shared/core/publish/publish.ts',
        old: 'head.expiresAt <= now && !head.owes',
        new: 'head.expiresAt <= now',
      },
    ],
  },
  {
    name: 'refused callbacks count as published',
    replacements: [
      {
        path: 'shared/runtime/plan/publish-callbacks.ts',
        old: 'if (refused.length === 0) return undefined',
        new: 'if (refused.length >= 0) return undefined',
      },
    ],
  },
  {
    name: 'the keys of callbacks do not tell two ends of one birth apart',
    replacements: [
      {
        path: 'shared/runtime/plan/publish-callbacks.ts',
        old: '?? task.revision\n  const causedBy',
        new: '&& 0\n  const causedBy',
      },
    ],
  },
  {
    name: 'fences follow the clock alone',
    replacements: [
      {
        path: 'shared/core/operate/restart.ts',
        old: 'fence: Math.max(task.fence, firstFence(now)),',
        new: 'fence: firstFence(now),',
      },
      {
        path: 'shared/core/change/change.ts',
        old: 'const fence = Math.max(remains?.fence ?? 0, firstFence(now))',
        new: 'const fence = firstFence(now)',
      },
    ],
  },
  {
    name: 'a debounced task can be put off for ever',
    replacements: [
      {
        path: 'shared/runtime/publish/decide-publish.ts',
        old: 'const latest = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : current.createdAt + maxWaitMs',
        new: 'const latest = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : Number.POSITIVE_INFINITY',
      },
    ],
  },
  {
    name: 'a debounced publish is dropped while the task of its key runs',
    replacements: [
      {
        path: 'shared/runtime/publish/decide-publish.ts',
        old: 'return updated.ok ? outcomeOf(updated) : { ok: false }',
        new: 'return outcomeOf(updated)',
      },
    ],
  },
  {
    name: 'a throttled key begins anew as soon as its task has ended',
    replacements: [
      {
        path: 'shared/runtime/publish/decide-publish.ts',
        old: "if (current.state === 'open' || now < current.createdAt + perMs) return UNCHANGED",
        new: "if (current.state === 'open') return UNCHANGED",
      },
    ],
  },
  {
    name: 'a change that names an old revision is accepted',
    replacements: [
      {
        path: 'shared/core/change/edits.ts',
        old: 'return ifRevision !== undefined && ifRevision !== editsOf(present ?? {})',
        new: 'return ifRevision !== undefined && ifRevision > editsOf(present ?? {})',
      },
    ],
  },
  {
    name: 'the grace of a schedule is two minutes shorter',
    replacements: [
      {
        path: 'shared/core/schedule/due-ticks.ts',
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
        path: 'shared/core/run/judge-budget.ts',
        old: 'delays[Math.min(retryNumber, delays.length) - 1]',
        new: 'delays[Math.min(retryNumber + 1, delays.length) - 1]',
      },
    ],
  },
  {
    name: 'a member of a canvas counts by its last end, not by its first',
    replacements: [
      {
        path: 'shared/core/task/canvas-state.ts',
        old: 'if (member.first) return { member, end: member.first }\n',
        new: '',
      },
    ],
  },
  {
    name: 'a callback restarts the task of its key again when it is tried again',
    replacements: [
      {
        path: 'shared/runtime/plan/publish-callbacks.ts',
        old: ': { causedBy }),',
        new: ': {}),',
      },
    ],
  },
  {
    name: 'a heartbeat of a run that is over is stored',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/guard-clauses.ts',
        old: 'text: [SAME_BIRTH, STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),',
        new: 'text: [SAME_BIRTH, KNOWN_SCHEMA].join(JOINED_BY_AND),',
      },
    ],
  },
  {
    name: 'a success among several is counted although its run is over',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/guard-clauses.ts',
        old: 'text: [SAME_BIRTH, STILL_LIVE, HAS_ENDED_RUNS, KNOWN_SCHEMA].join(JOINED_BY_AND),',
        new: 'text: [SAME_BIRTH, HAS_ENDED_RUNS, KNOWN_SCHEMA].join(JOINED_BY_AND),',
      },
    ],
  },
  {
    name: 'a write after a heartbeat does not state the index entries',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/head-requests.ts',
        old: "const CHANGED_BY_BEATS = [OPERATION_ATTRIBUTE, 'ppk', 'psk']",
        new: 'const CHANGED_BY_BEATS = [OPERATION_ATTRIBUTE]',
      },
    ],
  },
  {
    name: 'a heartbeat is accepted whatever the birth of its task',
    harmless:
      'the fences of a key never repeat, so a later birth has no live run with the fence of an earlier one',
    replacements: [
      {
        path: 'shared/core/run/heartbeat.ts',
        old: 'const run = task?.born === beat.born ? task.live[beat.fence] : undefined',
        new: 'const run = task?.live[beat.fence]',
      },
      {
        path: 'shared/aws/dynamo/head/guard-clauses.ts',
        old: 'text: [SAME_BIRTH, STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),\n        ...liveNames(guard),',
        new: "text: [':born = :born', STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),\n        ...liveNames(guard),",
      },
    ],
  },
  {
    name: 'a step whose undo has ended may be undone again',
    harmless:
      'undos go backwards from the failed step, and an operator resumes the steps only when none before the failed one is undone; the failed one then begins anew without its undo',
    replacements: [
      {
        path: 'shared/core/flow/end-piece.ts',
        old: 'const isNotUndone = flow.steps[at]?.undo?.endedAt === undefined',
        new: 'const isNotUndone = true',
      },
    ],
  },
  {
    name: 'the failure of one worker delays all workers, though each has retries of its own',
    replacements: [
      {
        path: 'shared/core/worker/own-retries.ts',
        old: 'if (!delaysWorkerAlone(draft.options) || isInvocation(workerId)) {',
        new: 'if (draft || isInvocation(workerId)) {',
      },
    ],
  },
  {
    name: 'no look announces the retry of a single worker',
    replacements: [
      {
        path: 'shared/core/plan/plan.ts',
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
