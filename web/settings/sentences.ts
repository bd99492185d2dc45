import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { SCHEDULE_GRACE_MS } from '../../shared/core/bounds.ts'
import { type PartialOptions, resolveOptions } from '../../shared/core/options.ts'
import { backoffMs } from '../../shared/core/run/backoff.ts'
import { counted, moment } from '../parts/format.ts'
import { spanText } from '../publish/span.ts'

/** What settings do, in sentences. Settings that are not complete yet have no sentence. */

type Limits = NonNullable<ApiType['limits']>

const PERIODS: Readonly<Record<number, string>> = {
  1000: 'a second',
  60000: 'a minute',
  3600000: 'an hour',
  86400000: 'a day',
}

/** `At most 50 starts a second for each customer.` */
export function limitSentences({ rate, concurrency }: Limits = {}): string[] {
  const { limit, perMs } = rate ?? {}
  const period = perMs === undefined ? undefined : (PERIODS[perMs] ?? `in any ${spanText(perMs)}`)
  return [
    ...(limit && period ? [`At most ${counted(limit, 'start')} ${period}${forEach(rate?.key)}.`] : []),
    ...(concurrency?.max
      ? [`At most ${counted(concurrency.max, 'run')} at a time${forEach(concurrency.key)}.`]
      : []),
    ...(rate || concurrency ? [] : ['Tasks start as fast as workers take them.']),
  ]
}

function forEach(key: string | undefined): string {
  return key === undefined ? '' : ` for each ${keyNoun(key)}`
}

/** `customerId` is a customer, and a fairness key a tenant. */
function keyNoun(key: string): string {
  return key === 'fairnessKey' ? 'tenant' : key.replace(/(?<=[a-z])I[dD]$/, '')
}

type Waiting = ReadonlyArray<{ readonly tasks: number }>

/** `3 customers wait now, with 12 tasks.` The tasks of one page are examined, so a full page is a lower bound. */
export function waitingSentence(
  waiting: Waiting | undefined,
  key: string | undefined,
  examinedMax: number,
): string | undefined {
  if (waiting === undefined) return undefined
  const sum = waiting.reduce((total, { tasks }) => total + tasks, 0)
  const tasks = sum >= examinedMax ? `${sum} tasks or more` : counted(sum, 'task')
  if (sum === 0) return 'Nothing waits for it now.'
  const verb = waiting.length === 1 ? 'waits' : 'wait'
  if (key === undefined) return `${tasks} ${sum === 1 ? 'waits' : 'wait'} for it now.`
  return `${counted(waiting.length, keyNoun(key))} ${verb} now, with ${tasks}.`
}

const DELAYS_SHOWN = 5

/** What the options of a type do: `Tries 4 times, after 1 s, 2 s and 4 s; fails for good after 7 s at the earliest.` */
export function optionSentences(given: PartialOptions = {}): string[] {
  const { retry, leaseMs, timeoutMs, deadlineMs, retentionMs, heartbeatMs } = resolveOptions(given)
  const delays = Array.from({ length: retry.maxRetries }, (_, nth) => backoffMs(retry, nth + 1, 0))
  const least = delays.reduce((sum, ms) => sum + ms * (1 - retry.jitter), 0)
  const shown = delays.slice(0, DELAYS_SHOWN).map(spanText)
  const more = delays.length > DELAYS_SHOWN ? ` and so on up to ${spanText(Math.max(...delays))}` : ''
  const jitter = retry.jitter > 0 ? `, each up to ${Math.round(retry.jitter * 100)} % shorter by chance` : ''
  return [
    retry.maxRetries === 0
      ? 'Tries once: the first failure is for good.'
      : `Tries ${retry.maxRetries + 1} times, after ${more === '' ? listed(shown) : shown.join(', ') + more}${jitter}; fails for good after ${spanText(Math.round(least))} at the earliest.`,
    ...(timeoutMs === undefined ? [] : [`A run that takes longer than ${spanText(timeoutMs)} has failed.`]),
    ...(deadlineMs === undefined
      ? []
      : [`A task that has not ended ${spanText(deadlineMs)} after its due time has failed for good.`]),
    `A run reports each ${spanText(heartbeatMs)}; after ${spanText(leaseMs)} of silence another worker takes over.`,
    `An ended task is kept for ${spanText(retentionMs)}.`,
  ]
}

function listed(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}

type Timed = Partial<Pick<ApiSchedule, 'cron' | 'everyMs' | 'at' | 'timezone'>> &
  Pick<Partial<ScheduleBody>, 'missed' | 'graceMs'>

/** When a schedule ticks, and which ticks it makes up for. */
export function scheduleSentences({ missed, graceMs = SCHEDULE_GRACE_MS, ...timing }: Timed): string[] {
  const when = timingText(timing)
  const latest = missed ?? (timing.at === undefined ? 'skip' : { catchUp: 1 })
  const made =
    latest === 'skip'
      ? `Of missed ticks only the latest publishes its task: if it is at most ${spanText(graceMs)} late and fell into no pause.`
      : `The latest ${latest.catchUp === 1 ? 'missed tick publishes its task' : `${latest.catchUp} missed ticks publish their tasks`}, however late.`
  return [...(when === undefined ? [] : [`Ticks ${when}.`]), made]
}

/** `by 0 3 * * * (Europe/Berlin)`, `every 5 min`, `once, at …`. Undefined without a timing. */
export function timingText({ cron, everyMs, at, timezone = 'UTC' }: Timed): string | undefined {
  if (cron !== undefined) return `by ${cron} (${timezone})`
  if (everyMs !== undefined) return `every ${spanText(everyMs)}`
  return at === undefined || Number.isNaN(Date.parse(at)) ? undefined : `once, ${moment(at)}`
}
