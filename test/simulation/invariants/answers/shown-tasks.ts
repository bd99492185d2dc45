import type { ApiTask } from '../../../../shared/api/tasks.ts'
import { liveRuns, successes } from '../../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn } from '../pieces.ts'
import { isTrue } from './reasons.ts'
import { clockErrorMs, sightingsOf, type Window } from './sightings.ts'
import { onAnswers } from './why.ts'

/** The ended runs in the history of a task, and the runs without success that its record shows at least. */
const HISTORY_RUNS_MAX = 5

/** The words of `why` that each status reason stands for. */
const WORDS: Readonly<Record<NonNullable<ApiTask['statusReason']>, readonly string[]>> = {
  due: ['due'],
  retry: ['retry', 'crashing'],
  'type-not-allowed': ['type-not-allowed'],
  paused: ['paused', 'step-paused'],
  'rate-limit': ['rate-limit'],
  'concurrency-limit': ['concurrency-limit'],
  'target-worker': ['target-worker'],
  'no-handler': ['no-handler'],
  'no-worker': ['no-worker', 'target-offline', 'worker-version', 'workers-spent'],
  'callbacks-owed': ['callbacks-owed'],
}

/** Promises about the answers to `GET /v1/tasks/{id}`. */
export const SHOWN_TASK_INVARIANTS: readonly Invariant[] = [
  onAnswers<ApiTask>('a task is shown with its status', 'get', (task, read, scenario) => {
    const heads = sightingsOf(scenario).ownHeads(task.id, read)
    const possible = heads.flatMap(head => (head ? statusesOf(head, read, clockErrorMs(scenario)) : []))
    return possible.includes(task.status)
      ? undefined
      : `${task.id} is shown as ${task.status}, and is ${possible.join(' or ')}`
  }),
  onAnswers<ApiTask>(
    'a task is shown with the runs that it has used and that are left to it',
    'get',
    (task, read, scenario) => {
      const { used, left } = task.attempts
      const isRight = sightingsOf(scenario)
        .ownHeads(task.id, read)
        .some(head => head && (head.flow !== undefined || fitsAttempts(head, used, left)))
      return isRight ? undefined : `${task.id} is shown with ${used} used runs and ${left} left`
    },
  ),
  onAnswers<ApiTask>('the history of a task has its last five ended runs', 'get', (task, read, scenario) => {
    const { id, history, formerRuns = [] } = task
    const ends = history.map(({ endedAt }) => Date.parse(endedAt))
    const isSorted = ends.every((end, index) => index === 0 || end >= (ends[index - 1] ?? 0))
    const isRight = sightingsOf(scenario)
      .ownHeads(id, read)
      .some(
        head =>
          head &&
          (head.flow !== undefined ||
            history.length ===
              Math.min(HISTORY_RUNS_MAX, Object.keys(head.ended).length + formerRuns.length)),
      )
    return isSorted && isRight ? undefined : `the history of ${id} has ${history.length} runs`
  }),
  onAnswers<ApiTask>(
    'the reason that a waiting task is shown with is true of it',
    'get',
    (task, read, scenario) => {
      const { id, status, statusReason } = task
      const sightings = sightingsOf(scenario)
      if (statusReason === undefined)
        return status === 'delayed' ? `${id} is delayed, and is shown with no reason` : undefined
      const moment = { ...read, scenario, sightings }
      const isRight = sightings
        .ownHeads(id, read)
        .some(head => head && WORDS[statusReason].some(reason => isTrue(reason, head, moment)))
      return isRight ? undefined : `${id} is ${status} and is shown to wait for ${statusReason}`
    },
  ),
  onAnswers<ApiTask>('a task that has an input is shown with it', 'get', (task, read, scenario) => {
    const hasInput = sightingsOf(scenario)
      .ownHeads(task.id, read)
      .every(head => head?.input !== undefined)
    return hasInput && task.input === undefined ? `${task.id} is shown without its input` : undefined
  }),
  onAnswers<ApiTask>(
    'a step that had a run is shown with the time of its first one',
    'get',
    ({ id, steps = [] }) => {
      const wrong = steps.find(
        ({ attempts, startedAt, undo }) =>
          (attempts > 0 && startedAt === undefined) ||
          (undo && undo.attempts > 0 && undo.startedAt === undefined),
      )
      return (
        wrong && `step ${wrong.name} of ${id} is ${wrong.state} and is shown with ${JSON.stringify(wrong)}`
      )
    },
  ),
  onAnswers<ApiTask>('a failed task is shown with an error, and a succeeded one with none', 'get', task => {
    const hasError = task.error !== undefined
    if (task.status === 'failed' && !hasError) return `${task.id} has failed and shows no error`
    return task.status === 'succeeded' && hasError ? `${task.id} has succeeded and shows an error` : undefined
  }),
  {
    name: 'each run is shown with its worker and the time of its claim',
    watch: () => {
      const claims = new Map<string, { readonly workerId: string; readonly startedAt: number }>()
      const see = (event: HistoryEvent) => {
        const run = claimIn(event)
        if (run && event.what === 'write') claims.set(`${event.after.born}.${run.fence}`, run)
      }
      return {
        on: event => {
          see(event)
          if (event.what !== 'read' || event.operation !== 'get' || event.status !== 200) return undefined
          const { id, runs, formerRuns = [] } = event.body as ApiTask
          // The record of an undo that has succeeded does not keep its worker.
          const known = [...runs, ...formerRuns].filter(({ workerId }) => workerId !== 'unknown')
          const wrong = known.find(run => {
            const claim = claims.get(run.id)
            const start = Math.min(claim?.startedAt ?? 0, Date.parse(run.endedAt ?? run.leaseUntil ?? ''))
            return claim && (claim.workerId !== run.workerId || start !== Date.parse(run.startedAt))
          })
          return (
            wrong && `run ${wrong.id} of ${id} is shown as one of ${wrong.workerId} since ${wrong.startedAt}`
          )
        },
      }
    },
  },
]

/** The statuses that a head can be shown with, by `docs/lifecycle.md`. */
export function statusesOf(head: SeenHead, { from, at }: Window, errorMs: number): string[] {
  if (head.state === 'removed') return []
  if (head.state !== 'open') return [head.state]
  if (head.flow?.direction === 'undo') return ['compensating']
  if (liveRuns(head).length > 0 || successes(head).length >= head.options.concurrency) return ['running']
  return [
    ...(head.dueAt > from - errorMs ? ['delayed'] : []),
    ...(head.dueAt <= at + errorMs ? ['ready'] : []),
  ]
}

/** Whether so many runs are used and left by the options of the task. A budget that an operator has cut may be overdrawn. */
function fitsAttempts(head: SeenHead, used: number, left: number): boolean {
  const { concurrency, retry, workerIds } = head.options
  const spent = head.failures + successes(head).length + liveRuns(head).length
  const most =
    retry.scope === 'task'
      ? concurrency + retry.maxRetries
      : Math.max(concurrency, workerIds.length) * (1 + retry.maxRetries)
  return used === spent && left === Math.max(0, most - spent)
}
