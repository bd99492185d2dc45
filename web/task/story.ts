import type { ApiRun, ApiTask } from '../../shared/api/tasks.ts'
import { capitalised, duration, operationText, reasonText, type State } from '../parts/format.ts'

/**
 * The story of a task: what happened to it, in order of time. Each kind of fact is a source of entries, so another kind, such as the parts of
 * durable code, is one more function. All times are milliseconds since the epoch.
 */

export type Entry = {
  readonly id: string
  readonly at: number
  /** When it ended, or when it will. A moment has none. */
  readonly until?: number
  readonly title: string
  readonly outcome?: State
  readonly detail?: Detail
}

/** What is known of an entry beyond its times: of an attempt, its run. */
export type Detail = Partial<ApiRun> &
  Partial<Pick<ApiTask, 'callbackProblems' | 'canvasId'>> & {
    /** The person or program that did it. */
    readonly by?: string
    /** Another task that it is about. */
    readonly taskId?: string
    /** Where the error of this entry shows, if another place on the page shows it. */
    readonly errorIsIn?: string
    readonly isResultShown?: boolean
  }

/** `limit` is the limit that the task waits for, as `why` names it. */
export function storyOf(task: ApiTask, now: number, limit?: string): Entry[] {
  const entries = [
    ...publishOf(task),
    ...operationsOf(task),
    ...waitsOf(task, now, limit),
    ...formerAttemptsOf(task),
    ...attemptsOf(task, now),
    ...endOf(task),
  ]
  return entries.sort((a, b) => a.at - b.at)
}

/** An operation and the change that it makes are stored with times of their own. */
const SAME_MS = 1_000

function publishOf({ createdAt, parentId: taskId, canvasId, operations = [] }: ApiTask): Entry[] {
  const at = Date.parse(createdAt)
  const isRestart = operations.some(
    one => /^re(start|try)/.test(one.what) && Math.abs(Date.parse(one.at) - at) < SAME_MS,
  )
  if (isRestart) return []
  if (taskId !== undefined) return [{ id: 'published', at, title: 'Published by', detail: { taskId } }]
  const ofCanvas = canvasId !== undefined && { title: 'Published by', detail: { canvasId } }
  return [{ id: 'published', at, title: 'Published', ...ofCanvas }]
}

function operationsOf({ operations = [] }: ApiTask): Entry[] {
  return operations.map(({ at, by, what }, nth) => ({
    id: `operation ${nth}`,
    at: Date.parse(at),
    title: operationText(what),
    detail: { by },
  }))
}

/** The attempts, numbered within their stage or step. */
function attemptsOf(task: ApiTask, now: number): Entry[] {
  const runs = byStart(task)
  const counts = new Map<string | undefined, number>()
  const lastStage = runs.at(-1)?.stage
  // The answer leaves out the oldest of many failed runs.
  counts.set(lastStage, Math.max(0, task.attempts.used - runs.filter(run => run.stage === lastStage).length))
  return runs.map((run, nth) => {
    const { state, stage } = run
    const number = (counts.get(stage) ?? 0) + 1
    counts.set(stage, number)
    const errorIsIn = errorPlaceOf(task, run, runs[nth + 1])
    // The result of the task and the results of steps have places of their own.
    const isResultShown = Boolean(task.steps) || JSON.stringify(run.result) === JSON.stringify(task.result)
    const detail = { ...run, isResultShown, ...(errorIsIn !== undefined && { errorIsIn }) }
    return { ...attempt(run, `Attempt ${number}`, detail), ...(state === 'running' && { until: now }) }
  })
}

/** The attempts from before a restart. They count no more. */
function formerAttemptsOf({ formerRuns = [] }: ApiTask): Entry[] {
  return formerRuns.map(run => attempt(run, 'Attempt before the restart', run))
}

function attempt(
  { id, state, startedAt, endedAt = startedAt }: ApiRun,
  title: string,
  detail: Detail,
): Entry {
  return { id, at: Date.parse(startedAt), until: Date.parse(endedAt), title, outcome: state, detail }
}

/** An error that repeats shows once: with its step, or with the last of the attempts in a row that had it. */
function errorPlaceOf({ steps = [] }: ApiTask, { error, stage }: ApiRun, next?: ApiRun): string | undefined {
  if (!error) return undefined
  const isSame = (other?: ApiRun['error']) => other?.name === error.name && other.message === error.message
  if (steps.some(step => isSame(step.error) || isSame(step.undo?.error))) return 'in its step above'
  return next?.stage === stage && isSame(next?.error) ? 'with the next attempt' : undefined
}

function byStart({ runs }: ApiTask): ApiRun[] {
  return runs.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt))
}

/** A worker takes a task that nothing holds back within this time, which is not shown as a wait. */
const WAIT_SHOWN_MS = 1_000

/** The times in which nothing ran, each with its reason. The past due times of earlier waits are not kept. */
function waitsOf(task: ApiTask, now: number, limit: string | undefined): Entry[] {
  const runs = byStart(task)
  const waits: Entry[] = []
  let from = Date.parse(task.createdAt)
  for (const [nth, run] of runs.entries()) {
    waits.push(...gapOf(task, from, run.startedAt, runs[nth - 1], nth === runs.length - 1))
    from = Math.max(from, run.state === 'running' ? now : Date.parse(run.endedAt ?? run.startedAt))
  }
  const last = task.finishedAt
    ? gapOf(task, from, task.finishedAt, runs.at(-1), true)
    : presentWaitOf(task, from, now, limit)
  return [...waits, ...last]
}

/** The wait after the run `last`. The due time of the task is of its latest wait. */
function gapOf(
  task: ApiTask,
  from: number,
  endedAt: string,
  last: ApiRun | undefined,
  isLatest: boolean,
): Entry[] {
  const [to, due] = [Date.parse(endedAt), Date.parse(task.dueAt)]
  const isDueInside = isLatest && due > from && due <= to
  const middle = isDueInside ? due : to
  return [
    waited(from, middle, causeOf(task, last, isDueInside)),
    ...(isDueInside ? [waited(due, to, 'to be started')] : []),
  ].filter(({ at, until = at }) => until - at >= WAIT_SHOWN_MS)
}

function waited(at: number, until: number, why: string): Entry {
  return { id: `wait ${at}`, at, until, title: `Waited ${duration(until - at)} ${why}` }
}

function causeOf({ steps, concurrency }: ApiTask, last: ApiRun | undefined, isDue: boolean): string {
  if (!last) return isDue ? 'for its time' : 'for its first attempt'
  if (last.state === 'failed' || last.state === 'lost') return 'for its retry'
  if (last.state === 'released') return 'after it was given back'
  if (concurrency > 1) return 'for another worker'
  return steps ? 'for its next step' : 'for its next stage'
}

function presentWaitOf(task: ApiTask, from: number, now: number, limit?: string): Entry[] {
  const { runs, statusReason, dueAt } = task
  if (runs.some(({ state }) => state === 'running')) return []
  const reason = statusReason ? reasonText(statusReason) : 'waits to be started'
  const title = capitalised(reason) + (limit === undefined ? '' : ` of ${limit}`)
  return [{ id: 'waits', at: Math.min(from, now), until: Math.max(now, Date.parse(dueAt)), title }]
}

function endOf(task: ApiTask): Entry[] {
  const { finishedAt, status, statusReason, createdAt, error, callbackProblems } = task
  if (finishedAt === undefined) return []
  const at = Date.parse(finishedAt)
  const steps = task.steps ?? []
  const shown = [...task.runs, ...steps, ...steps.map(({ undo }) => undo)].map(one => one?.error?.message)
  const end: Entry = {
    id: 'end',
    at,
    title: `Ended after ${duration(at - Date.parse(createdAt))}`,
    outcome: status,
    ...(error && !shown.includes(error.message) && { detail: { error } }),
  }
  if (statusReason !== 'callbacks-owed' && !callbackProblems) return [end]
  const title = callbackProblems ? 'Its callbacks cannot be published' : 'Its callbacks are being published'
  return [end, { id: 'callbacks', at, title, ...(callbackProblems && { detail: { callbackProblems } }) }]
}

/**
 * From when until when the bars of a story are drawn. What happened before the task was published has none, and a long lease is cut, so
 * that what has happened takes at least half of the width.
 */
export function spanOf(
  task: ApiTask,
  story: readonly Entry[],
): { readonly from: number; readonly to: number } {
  const from = Date.parse(task.createdAt)
  const to = Math.max(from + 1, ...story.map(({ at, until = at }) => until))
  const lease = Math.max(...story.map(({ detail }) => leaseEndOf(detail)))
  return { from, to: Math.max(to, Math.min(2 * to - from, lease)) }
}

/** When the lease of a live run ends; 0 for anything else. */
export function leaseEndOf({ state, leaseUntil }: Detail = {}): number {
  return state === 'running' && leaseUntil !== undefined ? Date.parse(leaseUntil) : 0
}
