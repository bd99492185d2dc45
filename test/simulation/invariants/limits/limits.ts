import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import type { RateLimit, TypeLimits } from '../../../../shared/core/types/task-type.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn, servingTypeOf } from '../pieces.ts'

/**
 * A change of a limit is acknowledged so long after it was written, and holds from then on: who claims until then may
 * not know it yet.
 */
const CHANGED_WITHIN_MS = 1_500
/** Whoever has asked the old limit in time may write the claim so much later, where calls are slow or freeze. */
const CLAIMED_WITHIN_MS = { usual: 1_500, slow: 120_000 }

/** Promises about rate and concurrency limits, counted anew from what the types say and who claims. */
export const LIMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no concurrency limit has more runs at work than it allows',
    watch: scenario => {
      const eras = erasOf('concurrency', scenario)
      /** Of each run that has been claimed and has not ended, the limits it was claimed under. */
      const claimed = new Map<string, readonly string[]>()
      /** Of each limit, the runs that are at work. */
      const working = new Map<string, Set<string>>()
      /** The limits under which each run is at work, with the values that they count it by. */
      const begun = new Map<string, readonly string[]>()
      const onWrite = (write: Write) => {
        for (const run of endedIn(write)) {
          for (const name of begun.get(run) ?? []) working.get(name)?.delete(run)
          claimed.delete(run)
          begun.delete(run)
        }
        const run = claimIn(write)
        if (run) claimed.set(nameOf(write.after.id, run.fence), eras.of(write.after, write.at))
      }
      const onBegun = (run: string, input: unknown) => {
        for (const limitName of claimed.get(run) ?? []) {
          const limit = eras.limit(limitName)
          const name = `${limitName}${fieldIn(input, limit?.key)}`
          begun.set(run, [...(begun.get(run) ?? []), name])
          const runs = (working.get(name) ?? new Set()).add(run)
          working.set(name, runs)
          if (runs.size > (limit?.max ?? 0))
            return `${[...runs].join(' and ')} are at work at once under ${name}`
        }
        return undefined
      }
      return {
        on: event => {
          eras.on(event)
          if (event.what === 'write') onWrite(event)
          return event.what === 'began' ? onBegun(nameOf(event.id, event.fence), event.input) : undefined
        },
      }
    },
  },
  {
    name: 'no span of time sees more starts than a rate limit allows, by the clocks of those who claim',
    watch: scenario => {
      const eras = erasOf('rate', scenario)
      const starts = new Map<string, number[]>()
      return {
        on: event => {
          eras.on(event)
          const run = claimIn(event)
          if (!run) return undefined
          const { after, at } = event as Write
          for (const name of eras.of(after, at)) {
            const times = [...(starts.get(name) ?? []), run.startedAt].sort((a, b) => a - b)
            starts.set(name, times)
            const crowd = crowdIn(times, eras.limit(name))
            if (crowd) return `${crowd} are starts under ${name}`
          }
          return undefined
        },
      }
    },
  },
  {
    name: 'no handler begins before its run is said to have started',
    watch: ({ weather }) => {
      const startedAt = new Map<string, number>()
      return {
        on: event => {
          const run = claimIn(event)
          if (run) startedAt.set(nameOf((event as Write).after.id, run.fence), run.startedAt)
          if (event.what !== 'began') return undefined
          const name = nameOf(event.id, event.fence)
          const earlyMs = Number(startedAt.get(name)) - event.at - weather.skewMs - weather.stepMs
          return earlyMs > 0 ? `${name} begins ${Math.round(earlyMs)} ms too early` : undefined
        },
      }
    },
  },
]

/** Starts that are too close together; `times` ascend. */
function crowdIn(times: readonly number[], rate: RateLimit | undefined): readonly number[] | undefined {
  if (!rate) return undefined
  const { limit, perMs } = rate
  const first = times.findIndex(
    (time, nth) => (times[nth + limit] ?? Number.POSITIVE_INFINITY) - time < perMs,
  )
  return first < 0 ? undefined : times.slice(first, first + limit + 1)
}

type Kind = keyof TypeLimits
type LimitOf<K extends Kind> = NonNullable<TypeLimits[K]>

/** From when a limit of a type stood as it does. */
type Era<K extends Kind> = { readonly since: number; readonly text: string; readonly limit?: LimitOf<K> }

/**
 * The limits of a kind as they were set one after the other. A task is under one when it is claimed so late that nobody
 * can go by the one before.
 */
function erasOf<K extends Kind>(kind: K, { weather }: Scenario) {
  const isSlow = weather.slow + weather.freeze + weather.answerLost > 0
  const lateMs = CHANGED_WITHIN_MS + CLAIMED_WITHIN_MS[isSlow ? 'slow' : 'usual']
  const present = new Map<string, Era<K>>()
  const named = new Map<string, LimitOf<K>>()
  return {
    on: (event: HistoryEvent) => {
      if (event.what !== 'type') return
      const { type, configuration } = event.type
      const limit = configuration.limits?.[kind] as LimitOf<K> | undefined
      const text = JSON.stringify(limit) ?? ''
      if (present.get(type)?.text === text) return
      // The first tasks of a type come after it.
      const since = present.has(type) ? event.at : 0
      present.set(type, { since, text, ...(limit && { limit }) })
    },
    /** The limits that count a task which is claimed now, each with the value it counts it by. */
    of: (task: Task, at: number): string[] =>
      [...new Set([task.type, servingTypeOf(task)])].flatMap(type => {
        const { limit, since, text } = present.get(type) ?? { since: 0, text: '' }
        if (!limit || at - since < lateMs) return []
        const name = `${type} ${text} since ${since} for ${valueIn(task, limit.key)}`
        named.set(name, limit)
        return [name]
      }),
    limit: (name: string) => named.get(name),
  }
}

function valueIn(task: Task, key: string | undefined): string {
  if (key === undefined) return 'all'
  if (key === 'userId') return `${key} ${task.userId}`
  return key === 'fairnessKey' ? `${key} ${task.fairnessKey}` : key
}

/** By what a limit counts a run if it goes by a field of the input: what the handler is given. */
function fieldIn(input: unknown, key: string | undefined): string {
  if (key === undefined || key === 'userId' || key === 'fairnessKey') return ''
  const isRecord = typeof input === 'object' && input !== null
  return ` ${isRecord ? Reflect.get(input, key) : undefined}`
}

/** Runs that a write ended. */
function endedIn({ before, after }: Write): string[] {
  if (!before) return []
  return liveRuns(before)
    .filter(({ fence }) => before.born !== after.born || !after.live[fence])
    .map(({ fence }) => nameOf(before.id, fence))
}

function nameOf(id: string, fence: number): string {
  return `${id} (fence ${fence})`
}
