import type { AttentionAnswer } from '../../shared/api/diagnosis/attention.ts'
import type {
  ApiFailureGroup,
  ApiMinute,
  ApiTypeActivity,
  TypeCounts,
} from '../../shared/api/diagnosis/statistics.ts'
import type { ApiSchedule } from '../../shared/api/schedules.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { ApiType, ApiWorker } from '../../shared/api/types.ts'
import { HOUR_MS, ratesOf } from '../charts/series.ts'
import { counted, countText, cut, duration, number, relative, visible } from '../parts/format.ts'
import type { TaskFilter } from '../tasks/filter.ts'

/** Something that an operator should look at: what, since when, how much, and why it matters, in plain words. */
export type Attention = {
  readonly id: string
  readonly tone: 'bad' | 'warn'
  readonly text: string
  readonly action:
    | { readonly kind: 'tasks'; readonly search: TaskFilter }
    | { readonly kind: 'resume'; readonly type: string }
    | { readonly kind: 'halted'; readonly taskId: string; readonly mayUndo: boolean }
    | { readonly kind: 'letters'; readonly queue: string; readonly replayable: number }
    | { readonly kind: 'page'; readonly to: '/schedules' | '/workers' | '/failures' }
  /** The task, type, schedule or queue, as the records of actions name it. */
  readonly subject?: string
}

/** What the API answers about the whole system. */
export type Known = {
  readonly types: readonly ApiType[]
  readonly counts: readonly TypeCounts[]
  readonly activity: readonly ApiTypeActivity[]
  readonly schedules: readonly ApiSchedule[]
  readonly workers: readonly ApiWorker[]
  readonly failures: readonly ApiFailureGroup[]
  readonly attention: AttentionAnswer
}

type Found = Attention | undefined

/**
 * What needs attention, the most urgent first: what only an operator can continue; what nothing works on; what fails; what was missed or
 * given up; what is slow; what was stopped on purpose. Each cause appears once: of the reasons for which a type's tasks wait, the first.
 */
export function attentionOf(known: Known, now: number): Attention[] {
  const waiting = known.types.map(type => waitOf(type, known, now))
  const ofKind = (kind: Wait['kind']) => waiting.map(one => (one?.kind === kind ? one.item : undefined))
  const lastWorkers = new Set(waiting.flatMap(one => one?.deadWorkers ?? []))
  return [
    ...haltedTasks(known.attention, now),
    ...ofKind('unserved'),
    ...known.types.map(({ type }) => spikeOf(type, known, now)).sort(byCount),
    ...known.schedules.map(one => missedTickOf(one, now)),
    ...known.attention.deadLetters.map(one => lettersOf(one, known.attention, now)),
    ...ofKind('late'),
    deadWorkersOf(
      known.workers.filter(({ id, state }) => state === 'dead' && !lastWorkers.has(id)),
      now,
    ),
    ...ofKind('backlog'),
    ...ofKind('paused'),
  ].filter(item => item !== undefined)
}

function byCount(a?: Attention & { readonly count?: number }, b?: typeof a): number {
  return (b?.count ?? 0) - (a?.count ?? 0)
}

const HALTED_APART_MAX = 3

/** A few halted tasks of a type appear one by one, each with its action. More are one row. */
function haltedTasks({ halted, haltedCount }: AttentionAnswer, now: number): Attention[] {
  const rows = [...Map.groupBy(halted, ({ type }) => type)].flatMap(([type, tasks]): Attention[] => {
    const last = tasks[0]?.finishedAt ?? ''
    if (tasks.length <= HALTED_APART_MAX) return tasks.map(task => haltedTask(task, now))
    const text = `${counted(tasks.length, 'task')} of ${type} are halted half-way, the last one ${relative(last, now)}. Each waits for the decision of an operator.`
    const search: TaskFilter = { type: [type], status: ['failed'], order: '-ended' }
    return [{ id: `halted ${type}`, tone: 'bad', text, action: { kind: 'tasks', search }, subject: type }]
  })
  const more = haltedCount - halted.length
  if (more <= 0) return rows
  const text = `${counted(more, 'further task')} halted earlier and wait for an operator. They appear here when those above are decided.`
  const search: TaskFilter = { status: ['failed'], order: 'ended' }
  return [...rows, { id: 'halted more', tone: 'bad', text, action: { kind: 'tasks', search } }]
}

function haltedTask({ id, steps = [], finishedAt, updatedAt }: ApiTask, now: number): Attention {
  const step = steps.find(({ state }) => state === 'undo-failed')
  const since = relative(finishedAt ?? updatedAt, now)
  const why = step
    ? `is half undone: the undo of its step ${visible(step.name)} failed for good ${since}. What the steps before it did is still in place.`
    : `ended ${since} and owes a callback that cannot be published. What depends on the callback waits.`
  const action = { kind: 'halted', taskId: id, mayUndo: step !== undefined } as const
  return { id: `halted ${id}`, tone: 'bad', text: `${visible(id)} ${why}`, action, subject: id }
}

type Wait = {
  readonly kind: 'paused' | 'unserved' | 'late' | 'backlog'
  readonly item: Attention
  /** The dead workers that the item names. */
  readonly deadWorkers?: readonly string[]
}

/** Tasks that are ready for longer than this are late. */
const LATE_MS = 60_000
const VERY_LATE_MS = 10 * 60_000

/** The first of the reasons for which ready tasks of a type wait. */
function waitOf(type: ApiType, known: Known, now: number): Wait | undefined {
  const { type: name, paused } = type
  const { counts, readySince } = known.counts.find(one => one.type === name) ?? {}
  const ready = counts?.ready ?? 0
  if (ready === 0) return undefined
  const wait = ready === 1 ? '1 task waits' : `${countText(ready)} tasks wait`
  const search: TaskFilter = { type: [name], status: ['ready'], order: 'due' }
  const show = { kind: 'tasks', search } as const
  if (paused) {
    const text = `${name} ${pausedBy(type, now)}; ${wait}.`
    const action = { kind: 'resume', type: name } as const
    return { kind: 'paused', item: { id: `paused ${name}`, tone: 'warn', text, action, subject: name } }
  }
  if (!isServed(type, known.workers)) {
    const dead = known.workers.filter(({ state, types }) => state === 'dead' && types.includes(name))
    const text = `${unservedText(name, dead, now)}; ${wait}. Start a worker of this type.`
    const item: Attention = { id: `unserved ${name}`, tone: 'bad', text, action: show, subject: name }
    return { kind: 'unserved', item, deadWorkers: dead.map(({ id }) => id) }
  }
  const lateMs = readySince === undefined ? 0 : now - Date.parse(readySince)
  if (lateMs > LATE_MS) {
    const text = `${wait} for a worker of ${name}, one of them for ${duration(lateMs)}. Its workers do not keep up, or a limit holds the tasks back.`
    const tone = lateMs > VERY_LATE_MS ? 'bad' : 'warn'
    return { kind: 'late', item: { id: `late ${name}`, tone, text, action: show, subject: name } }
  }
  const growth = growthText(known.activity.find(one => one.type === name)?.minutes ?? [], ready, now)
  if (growth === undefined) return undefined
  const text = `More tasks of ${name} come than are worked off: ${growth}; ${wait}.`
  return { kind: 'backlog', item: { id: `backlog ${name}`, tone: 'warn', text, action: show, subject: name } }
}

function pausedBy({ operations = [] }: ApiType, now: number): string {
  const pause = operations.findLast(({ what }) => what === 'pause')
  return pause ? `was paused by ${visible(pause.by)} ${relative(pause.at, now)}` : 'is paused'
}

/** The system itself serves webhooks, and the types of its steps serve a flow. The functions of a type count as one live worker. */
function isServed({ type, kind }: ApiType, workers: readonly ApiWorker[]): boolean {
  if (kind === 'webhook' || kind === 'flow') return true
  return workers.some(({ state, types }) => state === 'live' && types.includes(type))
}

function unservedText(type: string, dead: readonly ApiWorker[], now: number): string {
  const last = lastSeenOf(dead)
  if (!last?.lastSeen) return `No worker serves ${type}`
  return `No worker serves ${type} since ${visible(last.id)} died ${relative(last.lastSeen, now)}`
}

function lastSeenOf(workers: readonly ApiWorker[]): ApiWorker | undefined {
  return workers.toSorted((a, b) => ((a.lastSeen ?? '') < (b.lastSeen ?? '') ? 1 : -1))[0]
}

const GROWTH_MS = 15 * 60_000
const GROWING_READY_MIN = 20
/** The backlog grows when this share of what was published has not ended. */
const GROWING_SHARE = 0.25

function growthText(minutes: readonly ApiMinute[], ready: number, now: number): string | undefined {
  const recent = minutes.filter(({ at }) => Date.parse(at) > now - GROWTH_MS)
  const sum = (of: (minute: ApiMinute) => number) => recent.reduce((total, one) => total + of(one), 0)
  const published = sum(one => one.published)
  const ended = sum(one => one.succeeded + one.failed + one.cancelled)
  if (ready < GROWING_READY_MIN || published - ended < GROWING_SHARE * published) return undefined
  if (published <= ended) return undefined
  return `${number(published)} were published in the last ${duration(GROWTH_MS)}, and ${number(ended)} ended`
}

/** How many times as many failures as in an hour before are a spike. */
const SPIKE_FACTOR = 3
/** Fewer failed runs than this are a spike only when a task has failed for good. */
const SPIKE_RUNS_MIN = 5
const ERROR_CHARACTERS = 160

/** More failures in the last hour than in the hours before. */
function spikeOf(type: string, { failures, activity, attention }: Known, now: number) {
  const groups = failures
    .filter(group => group.type === type)
    .map(group => ({ group, ...ratesOf(group, now) }))
  const lastHour = Math.round(groups.reduce((sum, one) => sum + one.lastHour, 0))
  const before = groups.reduce((sum, one) => sum + one.anHourBefore, 0)
  const minutes = activity.find(one => one.type === type)?.minutes ?? []
  const isHalted = (task: ApiTask) => task.type === type
  const forGood = minutes.reduce((sum, one) => sum + one.failed, 0) - attention.halted.filter(isHalted).length
  const isNew = lastHour >= SPIKE_FACTOR * before && lastHour > 0
  if (!isNew || (lastHour < SPIKE_RUNS_MIN && forGood <= 0)) return undefined
  const [most] = groups.toSorted((a, b) => b.lastHour - a.lastHour)
  const usual = before < 0.1 ? 'none in the hours before' : `${Number(before.toFixed(1))} an hour before`
  const text = `About ${counted(lastHour, 'run')} of ${type} failed in the last hour, ${usual}; ${forGoodText(forGood)}. Most often: “${cut(visible(most?.group.error ?? ''), ERROR_CHARACTERS)}”.`
  const action = { kind: 'page', to: '/failures' } as const
  return { id: `spike ${type}`, tone: 'bad' as const, text, action, subject: type, count: lastHour }
}

function forGoodText(forGood: number): string {
  return forGood <= 0 ? 'the tasks are tried again' : `${counted(forGood, 'task')} failed for good`
}

/** A tick this much past its time has not come. */
const TICK_LATE_MS = 60_000

function missedTickOf({ name, lastError, nextRunAt, paused }: ApiSchedule, now: number): Found {
  const action = { kind: 'page', to: '/schedules' } as const
  const shown = { id: `schedule ${name}`, tone: 'bad', action, subject: name } as const
  const isMissed = !paused && nextRunAt !== undefined && Date.parse(nextRunAt) < now - TICK_LATE_MS
  if (isMissed) {
    const text = `The schedule ${visible(name)} should have ticked ${relative(nextRunAt, now)} and has not: its task is not published.`
    return { ...shown, text }
  }
  if (!lastError) return undefined
  const error = cut(visible(lastError.message), ERROR_CHARACTERS)
  return { ...shown, text: `The last tick of the schedule ${visible(name)} published nothing: ${error}` }
}

const DAY_MS = 24 * HOUR_MS

/** Dead letters that can only expire are news for a day. */
function lettersOf(
  { queue, count, replayable, lastAt }: AttentionAnswer['deadLetters'][number],
  { moreDeadLetters }: AttentionAnswer,
  now: number,
): Found {
  if (replayable === 0 && Date.parse(lastAt) < now - DAY_MS) return undefined
  const messages = `${moreDeadLetters ? 'At least ' : ''}${counted(count, 'message')}`
  const given = count === 1 && !moreDeadLetters ? 'was given up' : 'were given up, the last one'
  const text = `${messages} of the queue ${visible(queue)} ${given} ${relative(lastAt, now)}. The sweeper replaces what they announced; their cause remains.`
  return {
    id: `letters ${queue}`,
    tone: 'bad',
    text,
    action: { kind: 'letters', queue, replayable },
    subject: queue,
  }
}

const NAMES_SHOWN = 3

function deadWorkersOf(dead: readonly ApiWorker[], now: number): Found {
  const last = lastSeenOf(dead)
  if (!last?.lastSeen) return undefined
  const ago = relative(last.lastSeen, now)
  const names = dead.slice(0, NAMES_SHOWN).map(({ id }) => visible(id))
  const others = dead.length > NAMES_SHOWN ? ` and ${dead.length - NAMES_SHOWN} more` : ''
  const ran = dead.reduce((sum, { running }) => sum + running, 0)
  const left =
    ran === 0
      ? 'No task was running'
      : `${counted(ran, 'task')} ${ran === 1 ? 'was' : 'were'} running, which other workers take over`
  const text =
    dead.length === 1
      ? `The worker ${visible(last.id)} died: it gave its last sign of life ${ago} and has not stopped. ${left}.`
      : `${dead.length} workers died within a day, the last one ${ago}: ${names.join(', ')}${others}. ${left}.`
  return { id: 'dead workers', tone: 'warn', text, action: { kind: 'page', to: '/workers' } }
}
