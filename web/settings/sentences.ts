import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { SCHEDULE_GRACE_MS } from '../../shared/core/bounds.ts'
import { type PartialOptions, resolveOptions } from '../../shared/core/options.ts'
import { backoffMs } from '../../shared/core/run/backoff.ts'
import { counted, moment, spanText } from '../parts/format.ts'

/** What settings do, in sentences. */

const PERIODS: Readonly<Record<number, string>> = {
  ...{ 1000: 'a second', 60000: 'a minute', 3600000: 'an hour', 86400000: 'a day' },
}

/** `At most 50 starts a second for each customer.` */
export function limitSentences({ rate, concurrency }: NonNullable<ApiType['limits']> = {}): string[] {
  const sentences = [
    rate && `${counted(rate.limit, 'start')} ${PERIODS[rate.perMs] ?? `in any ${spanText(rate.perMs)}`}`,
    concurrency && `${counted(concurrency.max, 'run')} at a time`,
  ].flatMap((text, nth) => {
    const { key } = [rate, concurrency][nth] ?? {}
    return text ? [`At most ${text}${key === undefined ? '' : ` for each ${nounOf(key)}`}.`] : []
  })
  return sentences.length > 0 ? sentences : ['Tasks start as fast as workers take them.']
}

/** `customerId` counts customers, and a fairness key tenants. */
function nounOf(key: string): string {
  return key === 'fairnessKey' ? 'tenant' : key.replace(/(?<=[a-z])I[dD]$/, '')
}

type Waiting = ReadonlyArray<{ readonly tasks: number }>

/** `3 customers wait now, with 12 tasks.` `most` tasks were examined, so that many may be more. */
export function waitingSentence(waiting: Waiting, key: string | undefined, most: number): string {
  const sum = waiting.reduce((total, { tasks }) => total + tasks, 0)
  const tasks = sum < most ? counted(sum, 'task') : `${sum} tasks or more`
  const [who, count] =
    key === undefined ? [tasks, sum] : [counted(waiting.length, nounOf(key)), waiting.length]
  if (sum === 0) return 'Nothing waits for it now.'
  return `${who} ${count === 1 ? 'waits' : 'wait'} now${key === undefined ? '' : `, with ${tasks}`}.`
}

const DELAYS_SHOWN = 5

/** `Tries 4 times, after 1 s, 2 s and 4 s; fails for good after 7 s at the earliest.`, and the other spans. A step of a flow has its own. */
export function optionSentences(kind: ApiType['kind'], given: PartialOptions): string[] {
  const { retry, leaseMs, timeoutMs, deadlineMs, retentionMs } = resolveOptions(given)
  return [
    ...(kind === 'flow' ? [] : [retrySentence(retry)]),
    timeoutMs !== undefined && `A run that takes longer than ${spanText(timeoutMs)} has failed.`,
    deadlineMs !== undefined && `A task fails for good ${spanText(deadlineMs)} after its due time.`,
    kind !== 'flow' && `After ${spanText(leaseMs)} without a heartbeat another worker takes a task over.`,
    `An ended task is kept for ${spanText(retentionMs)}.`,
  ].filter(sentence => sentence !== false)
}

function retrySentence(retry: ReturnType<typeof resolveOptions>['retry']): string {
  const delays = Array.from({ length: retry.maxRetries }, (_, nth) => backoffMs(retry, nth + 1, 0))
  const least = delays.reduce((sum, ms) => sum + Math.round(ms * (1 - retry.jitter)), 0)
  const shown = delays.slice(0, DELAYS_SHOWN).map(ms => spanText(ms))
  const more = delays.length > DELAYS_SHOWN ? `so on up to ${spanText(Math.max(...delays))}` : shown.pop()
  if (more === undefined) return 'Tries once: the first failure is for good.'
  const jitter = retry.jitter > 0 ? `, each up to ${Math.round(retry.jitter * 100)} % shorter by chance` : ''
  const after = shown.length > 0 ? `${shown.join(', ')} and ${more}` : more
  return `Tries ${delays.length + 1} times, after ${after}${jitter}; fails for good after ${spanText(least)} at the earliest.`
}

type Timed = Partial<Pick<ApiSchedule, 'cron' | 'everyMs' | 'at' | 'timezone'>> &
  Pick<Partial<ScheduleBody>, 'missed' | 'graceMs'>

/** When a schedule ticks, and which missed ticks publish their tasks. */
export function scheduleSentences({ missed, graceMs = SCHEDULE_GRACE_MS, ...timing }: Timed): string[] {
  const { catchUp } = missed === 'skip' ? {} : (missed ?? (timing.at === undefined ? {} : { catchUp: 1 }))
  const made =
    catchUp === undefined
      ? `Of missed ticks only the latest publishes its task, if it is at most ${spanText(graceMs)} late and fell into no pause.`
      : `Of missed ticks the latest ${counted(catchUp, 'tick')} publish their tasks, however late.`
  return [`Ticks ${timingText(timing)}.`, made]
}

/** `by 0 3 * * * (Europe/Berlin)`, `every 5 min`, `once, …`. */
export function timingText({ cron, everyMs, at, timezone = 'UTC' }: Timed): string {
  if (cron !== undefined) return `by ${cron} (${timezone})`
  return everyMs === undefined ? `once, ${moment(at ?? '')}` : `every ${spanText(everyMs)}`
}
