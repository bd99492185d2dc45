import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import type { RateLimit, TypeLimits } from '../../../../shared/core/types/task-type.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn, servingTypeOf } from '../pieces.ts'

/**
 * A change of a limit is acknowledged this long after it was written, and holds from then on. Until then a
 * claimer may not know it.
 */
const CHANGED_WITHIN_MS = 1_500
/**
 * A claimer that read the old limit in time may write the claim this much later, where calls are slow or
 * freeze.
 */
const CLAIMED_WITHIN_MS = { usual: 1_500, slow: 120_000 }

/**
 * Promises about rate and concurrency limits. Starts and runs are counted from the settings of types and the claims.
 */
export const LIMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no concurrency limit has more running handlers than it allows',
    watch: scenario => {
      const eras = erasOf('concurrency', scenario)
      /** For each live run: the limits that it was claimed under. */
      const claimed = new Map<string, readonly string[]>()
      /** For each limit: the runs whose handlers have begun. */
      const working = new Map<string, Set<string>>()
      /** For each run whose handler has begun: its limits, with the values by which they count it. */
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
          if (runs.size > (limit?.max ?? 0)) return `${[...runs].join(' and ')} run at once under ${name}`
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
    name: 'no span of time has more starts than a rate limit allows, by the clocks of the claimers',
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
    name: 'no handler begins before the recorded start of its run',
    watch: ({ weather }) => {
      const startedAt = new Map<string, number>()
      return {
        on: event => {
          const run = claimIn(event)
          if (run) startedAt.set(nameOf((event as Write).after.id, run.fence), run.startedAt)
          if (event.what !== 'began') return undefined
          const name = nameOf(event.id, event.fence)
          const earlyMs = Number(startedAt.get(name)) - event.at - weather.skewMs - weather.stepMs
          return earlyMs > 0
            ? `${name} begins ${Math.round(earlyMs)} ms before its recorded start`
            : undefined
        },
      }
    },
  },
]

/** Starts that are too close together. `times` are ascending. */
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

/** A limit of a type, and since when it holds. */
type Era<K extends Kind> = { readonly since: number; readonly text: string; readonly limit?: LimitOf<K> }

/**
 * The limits of a kind in the order in which they were set. A limit counts a task only if it is claimed so late
 * that every claimer knows that limit.
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
      // The first limit of a type holds from the start: tasks of the type come after it.
      const since = present.has(type) ? event.at : 0
      present.set(type, { since, text, ...(limit && { limit }) })
    },
    /** The limits that count a task which is claimed now, each with its value for the task. */
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

/**
 * The value by which a limit counts a run if its key is a field of the input. The field comes from the input
 * that the handler was given.
 */
function fieldIn(input: unknown, key: string | undefined): string {
  if (key === undefined || key === 'userId' || key === 'fairnessKey') return ''
  const isRecord = typeof input === 'object' && input !== null
  return ` ${isRecord ? Reflect.get(input, key) : undefined}`
}

/** The runs that a write ended. */
function endedIn({ before, after }: Write): string[] {
  if (!before) return []
  return liveRuns(before)
    .filter(({ fence }) => before.born !== after.born || !after.live[fence])
    .map(({ fence }) => nameOf(before.id, fence))
}

function nameOf(id: string, fence: number): string {
  return `${id} (fence ${fence})`
}
