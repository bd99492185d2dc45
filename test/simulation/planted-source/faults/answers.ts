import type { SourceFault } from '../source-fault.ts'

/** Faults in what the API shows to readers, and in the requests that it refuses. */
export const ANSWER_FAULTS: readonly SourceFault[] = [
  {
    needs: 'stuck',
    ...one(
      'callbacks that cannot be published are counted as stuck',
      'shared/core/status.ts',
      '  if (task.unpublished) return false\n',
      '',
    ),
  },
  one(
    'a task is never told as stuck',
    'shared/core/status.ts',
    "  if (isQuietNow && isStuck(task, wait, now)) return 'stuck'\n",
    '',
  ),
  {
    needs: 'stuck',
    ...one(
      'a task in the line of HTTP workers is told as stuck when it is quiet',
      'shared/core/status.ts',
      "  if (isQuietNow && isStuck(task, wait, now)) return 'stuck'\n",
      "  if (isQuietNow) return 'stuck'\n",
    ),
  },
  one(
    'a retry is told as a due time after any patch',
    'shared/core/operate/patch.ts',
    'retrying: changes.dueAt === undefined && task.retrying,',
    'retrying: false,',
  ),
  one(
    'the holders of a limit are listed shortest first',
    'shared/runtime/limits/limit-usage.ts',
    'a.since - b.since',
    'b.since - a.since',
  ),
  one(
    'a task that was given back is said to wait for its retry',
    'shared/core/run/finish.ts',
    'dueAt: now + delayMs, retrying: false }',
    'dueAt: now + delayMs, retrying: true }',
  ),
  one(
    'a paused task is said to wait for a worker',
    'shared/core/status.ts',
    "  if (served.isPaused) return 'paused'\n",
    '',
  ),
  one(
    'spans are told in tenths of a second',
    'shared/service/why/words.ts',
    'Math.round(ms / SECOND_MS)} s`',
    'Math.round(ms / 100)} s`',
  ),
  one(
    'a sentence names any number of holders',
    'shared/service/why/words.ts',
    'NAMES_MAX = 3',
    'NAMES_MAX = 30',
  ),
  one(
    'the sentence about an end counts one run too many',
    'shared/service/why/explain.ts',
    '  const { used, left } = attempts(task)\n',
    '  const { used: before, left } = attempts(task)\n  const used = before + 1\n',
  ),
  one(
    'a paused task is told the time of its own last change',
    'shared/service/why/waiting.ts',
    '...defined({ since: pause?.at }),',
    'since: task.updatedAt,',
  ),
  one(
    'a flow that stands half undone is told another step',
    'shared/service/why/explain.ts',
    "filter(({ state }) => state === 'undo-failed')",
    "filter(({ state }) => state !== 'undo-failed')",
  ),
  one(
    'a heartbeat renews a run by the lease that a patch has set',
    'shared/core/operate/patch.ts',
    'return Object.fromEntries(Object.entries(live).map(([fence, run]) => [fence, { leaseMs, ...run }]))',
    'return live',
  ),
  one(
    'a rate limit is told one start too high',
    'shared/service/why/waiting.ts',
    'max: rate.limit,',
    'max: rate.limit + 1,',
  ),
  one(
    'an answer of why lacks the status',
    'shared/service/operations/diagnosis.ts',
    '    id,\n    status,\n    reason,',
    '    id,\n    status: undefined as never,\n    reason,',
  ),
  one(
    'a task that waits for its time is shown as ready',
    'shared/core/status.ts',
    "return task.dueAt > now ? 'delayed' : 'ready'",
    "return task.dueAt > now + 1e12 ? 'delayed' : 'ready'",
  ),
  one(
    'a task is shown with one run too many that is left',
    'shared/core/task/piece.ts',
    'left: Math.max(0, mostRuns(task) - used)',
    'left: Math.max(0, mostRuns(task) - used) + 1',
  ),
  one(
    'a waiting task is shown without its reason',
    'shared/runtime/read/read.ts',
    '...(statusReason && { statusReason }),',
    '',
  ),
  one(
    'the history of a task has four runs',
    'shared/runtime/read/read.ts',
    'HISTORY_RUNS = 5',
    'HISTORY_RUNS = 4',
  ),
  one(
    'a failed task is shown without its error',
    'shared/runtime/read/read.ts',
    '...(error && { error }),',
    '',
  ),
  one(
    'a task is shown without its input',
    'shared/runtime/read/read.ts',
    '...defined({ input, result }),',
    '...defined({ result }),',
  ),
  one(
    'an ended run is shown to have begun when it ended',
    'shared/core/change.ts',
    'startedAt: Math.min(startedAt, now)',
    'startedAt: Math.max(startedAt, now)',
  ),
  one(
    'a step that has succeeded forgets when it began',
    'shared/core/flow/pieces.ts',
    '{ ...begun, attempts: attempts(task).used',
    '{ attempts: attempts(task).used',
  ),
  one(
    'a list shows tasks of every type',
    'shared/runtime/list/list.ts',
    '    if (running) return sortedPage(running, query, name, after)\n',
    '    if (running) return sortedPage([], query, name, after)\n',
  ),
  one(
    'a type is counted with one task too many',
    'shared/aws/dynamo/head/task-store.ts',
    'countEntries(on, range, atMost),',
    'countEntries(on, range, atMost).then(count => count + 1),',
  ),
  one(
    'a member of an ended canvas that never runs is shown as pending',
    'shared/runtime/canvas/describe-canvas.ts',
    "if (evaluation.reachOf(leaf) === 'skipped') return 'skipped'",
    "if (evaluation.reachOf(leaf) === 'skipped') return 'pending'",
  ),
  one('each failure is counted twice', 'shared/core/events/failures.ts', 'count: 1,', 'count: 2,'),
  one(
    'failures are grouped with their numbers',
    'shared/core/events/failures.ts',
    ".replace(WITH_DIGIT, '#')",
    '',
  ),
  one(
    'a failed task is counted as a succeeded one',
    'shared/core/events/activity.ts',
    "'task.failed': 'failed'",
    "'task.failed': 'succeeded'",
  ),
  one(
    'the usage of a limit tells one permit too many',
    'shared/runtime/limits/limit-usage.ts',
    'held: holders.length,\n    holders: longest,',
    'held: holders.length + 1,\n    holders: longest,',
  ),
  one(
    'the usage of a rate limit does not tell the next slot',
    'shared/runtime/limits/limit-usage.ts',
    'nextSlotAt: nextSlot(log, rate, clock.now()) }',
    '...(log === undefined && { nextSlotAt: nextSlot(log, rate, clock.now()) }) }',
  ),
  one(
    'a lost run is published as no event',
    'shared/core/events/events.ts',
    "filter(({ state }) => state === 'lost')",
    "filter(({ state }) => state === 'released')",
  ),
  one(
    'every patch is published as a task that became ready',
    'shared/core/events/events.ts',
    "(task.operation !== 'patch' || becameReadyByPatch(task))",
    "(task.operation !== 'patch' || task.revision > 0)",
  ),
  one(
    'the table of the lifecycle lacks the claims',
    'shared/core/task/lifecycle.ts',
    "{ from: ['ready', 'running'], to: ['running'] },\n    { from: ['compensating'], to: ['compensating'] },\n  ],\n  beat",
    "{ from: ['ready'], to: ['running'] },\n    { from: ['compensating'], to: ['compensating'] },\n  ],\n  beat",
  ),
  one(
    'a head keeps four runs without success',
    'shared/core/bounds.ts',
    'RECENT_RUNS_MAX = 5',
    'RECENT_RUNS_MAX = 4',
  ),
  one(
    'a version without a number counts as a higher one',
    'shared/core/worker.ts',
    '(have[i] ?? 0) - (need[i] ?? 0)',
    '(have[i] ?? 9) - (need[i] ?? 0)',
  ),
  one(
    'a schedule catches up on one tick less than on half of those that it owes',
    'shared/core/schedule.ts',
    'end - (count - 1) * everyMs',
    'end - Math.floor((count - 1) / 2) * everyMs',
  ),
  one(
    'a stored error takes twice its room',
    'shared/core/task-error/task-error.ts',
    'ERROR_BYTES_MAX - frame',
    '2 * ERROR_BYTES_MAX - frame',
  ),
  one(
    'the stack of an error keeps a secret',
    'shared/core/task-error/redact.ts',
    'stack: text(stack)',
    'stack',
  ),
  one(
    'one retry less is legal than the documents say',
    'shared/core/bounds.ts',
    'RETRIES_MAX = 1_000',
    'RETRIES_MAX = 999',
  ),
  one(
    'one retry more is legal than the documents say',
    'shared/core/bounds.ts',
    'RETRIES_MAX = 1_000',
    'RETRIES_MAX = 1_001',
  ),
  one(
    'no name is suggested for a misspelt field',
    'shared/core/rules/rules.ts',
    'return found.length === 0 ?',
    'return found.length >= 0 ?',
  ),
  one(
    'two types with long names can share a queue',
    'shared/core/types/task-type.ts',
    'const looksHashed = /-[0-9a-f]{8}$/.test(type)',
    'const looksHashed = false',
  ),
  one(
    'the published schema of an object does not list the required fields',
    'shared/core/rules/compound.ts',
    '    ...(required.length > 0 && { required }),\n',
    '',
  ),
  one(
    'a result that contains itself is said to be too deep',
    'shared/core/values/values.ts',
    '    if (found !== undefined) return found\n',
    '',
  ),
  one(
    'a secret deep in an input is not hidden',
    'shared/core/task-error/redact.ts',
    'if (!isWalked(value))',
    'if (!isWalked(value) || path.length > 8)',
  ),
]

/** A fault that is one replacement of source text. */
function one(name: string, path: string, old: string, text: string): SourceFault {
  return { name, replacements: [{ path, old, new: text }] }
}
