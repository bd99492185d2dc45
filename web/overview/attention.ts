import type { AttentionAnswer } from '../../shared/api/diagnosis/attention.ts'
import type { ActivityPage, ApiFailureGroup, TypeCounts } from '../../shared/api/diagnosis/statistics.ts'
import type { ApiSchedule } from '../../shared/api/schedules.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { ApiType, ApiWorker } from '../../shared/api/types.ts'
import { HOUR_MS, ratesOf, slotsOf } from '../charts/series.ts'
import { counted, countText, cut, duration, number, relative, visible } from '../parts/format.ts'
import type { TaskFilter } from '../tasks/filter.ts'

/** The kinds of what needs attention, the most urgent first. */
const KINDS = [
  ...(['halted', 'unserved', 'spike', 'schedule', 'letters'] as const),
  ...(['late', 'dead', 'backlog', 'paused'] as const),
]

/** Something that an operator should look at: what, since when, how much, and why it matters, in plain words. */
export type Attention = {
  readonly id: string
  readonly kind: (typeof KINDS)[number]
  readonly tone: 'bad' | 'warn'
  readonly text: string
  readonly link: { readonly text: string; readonly to: string; readonly search?: TaskFilter }
  /** What can be done about it at once. */
  readonly act?: 'undo' | 'replay' | 'resume'
  /** The task, type, schedule or queue, as the records of actions name it. */
  readonly subject: string
}

type More = Partial<Pick<Attention, 'tone' | 'act'>>

function row(
  kind: Attention['kind'],
  subject: string,
  text: string,
  link: Attention['link'],
  more: More = {},
): Attention {
  return { id: `${kind} ${subject}`, kind, tone: 'bad', text, link, subject, ...more }
}

export type Known = {
  readonly types: readonly ApiType[]
  readonly counts: readonly TypeCounts[]
  readonly activity: Pick<ActivityPage, 'from' | 'to' | 'items'>
  readonly schedules: readonly ApiSchedule[]
  readonly workers: readonly ApiWorker[]
  readonly failures: { readonly items: readonly ApiFailureGroup[] }
  readonly attention: AttentionAnswer
}

/**
 * What needs attention, the most urgent first: what only an operator can continue; what nothing works on; what fails; what was missed or
 * given up; what is slow; what was stopped on purpose. Each cause appears once: of the reasons for which a type's tasks wait, the first.
 */
export function attentionOf(known: Known, now: number): Attention[] {
  const { types, workers, schedules, attention } = known
  const dead = workers.filter(({ state }) => state === 'dead').sort((a, b) => seen(b).localeCompare(seen(a)))
  const waiting = types.flatMap(type => waitOf(type, known, dead, now) ?? [])
  const unserved = waiting.filter(({ kind }) => kind === 'unserved').map(({ subject }) => subject)
  const unnamed = dead.filter(({ types }) => !types.some(type => unserved.includes(type)))
  const rows = [
    ...attention.halted.map(task => haltedTask(task, now)),
    earlierHalted(attention),
    ...waiting,
    ...types.map(({ type }) => spikeOf(type, known, now)),
    ...schedules.map(one => missedTickOf(one, now)),
    ...attention.deadLetters.map(one => lettersOf(one, attention, now)),
    deadWorkersOf(unnamed, now),
  ].filter(one => one !== undefined)
  return rows.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

function seen({ lastSeen = '' }: ApiWorker): string {
  return lastSeen
}

function haltedTask({ id, steps = [], finishedAt, updatedAt }: ApiTask, now: number): Attention {
  const step = steps.find(({ state }) => state === 'undo-failed')
  const since = relative(finishedAt ?? updatedAt, now)
  const text = step
    ? `${visible(id)} is half undone: the undo of its step ${visible(step.name)} failed for good ${since}. What the steps before it did is still in place.`
    : `${visible(id)} ended ${since} and owes a callback that cannot be published. What depends on the callback waits.`
  const link = { text: 'Show the task', to: `/tasks/${encodeURIComponent(id)}` }
  return row('halted', id, text, link, step && { act: 'undo' })
}

function earlierHalted({ halted, haltedCount }: AttentionAnswer): Attention | undefined {
  const more = haltedCount - halted.length
  if (more <= 0) return undefined
  const text = `${counted(more, 'further task')} halted earlier and wait for an operator. They appear here when those above are decided.`
  return row('halted', 'earlier', text, showTasks({ status: ['failed'], order: 'ended' }))
}

function showTasks(search: TaskFilter): Attention['link'] {
  return { text: 'Show the tasks', to: '/tasks', search }
}

const LATE_MS = 60_000
const VERY_LATE_MS = 10 * LATE_MS

/** The first of the reasons for which ready tasks of a type wait. */
function waitOf(type: ApiType, known: Known, dead: readonly ApiWorker[], now: number): Attention | undefined {
  const { type: name, paused } = type
  const { counts, readySince = '' } = known.counts.find(one => one.type === name) ?? {}
  const ready = counts?.ready ?? 0
  if (ready === 0) return undefined
  const wait = ready === 1 ? '1 task waits' : `${countText(ready)} tasks wait`
  const link = showTasks({ type: [name], status: ['ready'], order: 'due' })
  const of = (kind: Attention['kind'], text: string, more?: More) => row(kind, name, text, link, more)
  if (paused) return of('paused', `${name} is paused; ${wait}.`, { tone: 'warn', act: 'resume' })
  if (!isServed(type, known.workers)) {
    const last = dead.find(({ types }) => types.includes(name))
    const since = last ? ` since ${visible(last.id)} died ${relative(seen(last), now)}` : ''
    return of('unserved', `No worker serves ${name}${since}; ${wait}. Start a worker of this type.`)
  }
  const lateMs = now - Date.parse(readySince)
  if (lateMs > LATE_MS) {
    const text = `${wait} for a worker of ${name}, one of them for ${duration(lateMs)}. Its workers do not keep up, or a limit holds the tasks back.`
    return of('late', text, { tone: lateMs > VERY_LATE_MS ? 'bad' : 'warn' })
  }
  const growth = growthText(name, known.activity, ready)
  return growth ? of('backlog', `${growth}; ${wait}.`, { tone: 'warn' }) : undefined
}

/** The system itself serves webhooks, and the types of its steps serve a flow. The functions of a type count as one live worker. */
function isServed({ type, kind }: ApiType, workers: readonly ApiWorker[]): boolean {
  if (kind === 'webhook' || kind === 'flow') return true
  return workers.some(({ state, types }) => state === 'live' && types.includes(type))
}

const GROWTH_MINUTES = 15
const GROWING_READY_MIN = 20
/** The backlog grows when at least this share of what was published has not ended. */
const GROWING_SHARE = 0.25

function growthText(type: string, { items, from, to }: Known['activity'], ready: number): string | undefined {
  const slots = slotsOf(
    items.filter(one => one.type === type),
    from,
    to,
  ).slice(-GROWTH_MINUTES)
  const published = slots.reduce((sum, slot) => sum + slot.published, 0)
  const ended = slots.reduce((sum, slot) => sum + slot.succeeded + slot.failed + slot.cancelled, 0)
  if (ready < GROWING_READY_MIN || published === 0 || published - ended < GROWING_SHARE * published)
    return undefined
  return `More tasks of ${type} come than are worked off: ${number(published)} were published in the last ${GROWTH_MINUTES} min, and ${number(ended)} ended`
}

/** How many times as many failures as in an hour before are a spike. */
const SPIKE_FACTOR = 3
/** Fewer failed runs than this are a spike only when a task has failed for good. */
const SPIKE_RUNS_MIN = 5
const ERROR_CHARACTERS = 160

/** More failures in the last hour than in the hours before. A halted task is in a row of its own. */
function spikeOf(type: string, { failures, activity, attention }: Known, now: number): Attention | undefined {
  const groups = failures.items
    .filter(group => group.type === type)
    .map(group => ({ error: group.error, ...ratesOf(group, now) }))
    .sort((a, b) => b.lastHour - a.lastHour)
  const lastHour = Math.round(groups.reduce((sum, one) => sum + one.lastHour, 0))
  const before = groups.reduce((sum, one) => sum + one.anHourBefore, 0)
  const minutes = activity.items.find(one => one.type === type)?.minutes ?? []
  const halted = attention.halted.filter(task => task.type === type).length
  const forGood = minutes.reduce((sum, { failed }) => sum + failed, 0) - halted
  const isSpike = lastHour > 0 && lastHour >= SPIKE_FACTOR * before
  if (!isSpike || (lastHour < SPIKE_RUNS_MIN && forGood <= 0)) return undefined
  const usual = before < 0.1 ? 'none in the hours before' : `${Number(before.toFixed(1))} an hour before`
  const end = forGood <= 0 ? 'the tasks are tried again' : `${counted(forGood, 'task')} failed for good`
  const error = cut(visible(groups[0]?.error ?? ''), ERROR_CHARACTERS)
  const text = `About ${counted(lastHour, 'run')} of ${type} failed in the last hour, ${usual}; ${end}. Most often: “${error}”.`
  return row('spike', type, text, { text: 'Show the failures', to: '/failures' })
}

/** A tick this much past its time has not come. */
const TICK_LATE_MS = 60_000

function missedTickOf(schedule: ApiSchedule, now: number): Attention | undefined {
  const { name, lastError, nextRunAt, paused } = schedule
  const isMissed = !paused && nextRunAt !== undefined && Date.parse(nextRunAt) < now - TICK_LATE_MS
  if (!isMissed && !lastError) return undefined
  const text = isMissed
    ? `The schedule ${visible(name)} should have ticked ${relative(nextRunAt, now)} and has not: its task is not published.`
    : `The last tick of the schedule ${visible(name)} published nothing: ${cut(visible(lastError?.message ?? ''), ERROR_CHARACTERS)}`
  return row('schedule', name, text, { text: 'Show the schedules', to: '/schedules' })
}

/** Dead letters that can only expire are news for a day. */
function lettersOf(
  { queue, count, replayable, lastAt }: AttentionAnswer['deadLetters'][number],
  { moreDeadLetters }: AttentionAnswer,
  now: number,
): Attention | undefined {
  if (replayable === 0 && Date.parse(lastAt) < now - 24 * HOUR_MS) return undefined
  const messages = `${moreDeadLetters ? 'At least ' : ''}${counted(count, 'message')}`
  const given = count === 1 && !moreDeadLetters ? 'was given up' : 'were given up, the last one'
  const text = `${messages} of the queue ${visible(queue)} ${given} ${relative(lastAt, now)}. The sweeper replaces what they announced; their cause remains.`
  const more = replayable > 0 ? ({ act: 'replay' } as const) : {}
  return row('letters', queue, text, { text: 'Show them', to: '/dead-letters' }, more)
}

const NAMES_SHOWN = 3

function deadWorkersOf(dead: readonly ApiWorker[], now: number): Attention | undefined {
  const [last] = dead
  if (!last) return undefined
  const names = dead.slice(0, NAMES_SHOWN).map(({ id }) => visible(id))
  const others = dead.length > NAMES_SHOWN ? ` and ${dead.length - NAMES_SHOWN} more` : ''
  const ran = dead.reduce((sum, { running }) => sum + running, 0)
  const left =
    ran === 0 ? 'No task ran there' : `Other workers take over ${counted(ran, 'task')} that ran there`
  const text = `${counted(dead.length, 'worker')} died within a day: ${names.join(', ')}${others}; the last sign of life was ${relative(seen(last), now)}. ${left}.`
  return row('dead', 'workers', text, { text: 'Show the workers', to: '/workers' }, { tone: 'warn' })
}
