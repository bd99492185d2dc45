import { ulid } from 'ulid'
import { monotonicUlids } from '../core/values/text.ts'
import { BatonError } from '../core/values/values.ts'
import type { Chance, Clock } from '../ports/machine.ts'

export type SystemAddress = {
  readonly table: string
  /** The system's name. The names of its queues begin with it. */
  readonly system: string
  readonly wakeQueueUrl: string
  /** The queue of long jobs. A process that starts no jobs, such as a worker, does not need it. */
  readonly jobsQueueUrl?: string
}

/** The value of an environment variable that the constructs set. @throws BatonError `misconfigured` when it is missing. */
export function requiredVariable(name: string): string {
  const value = process.env[name]
  if (!value) throw new BatonError('misconfigured', `environment variable ${name} is not set`)
  return value
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/**
 * The lowest level that a standalone worker logs, from `BATON_LOG_LEVEL`. @default `info`
 *
 * @throws BatonError `misconfigured` for a value that is not a level.
 */
export function logLevelOfEnvironment(): (typeof LEVELS)[number] {
  const given = process.env.BATON_LOG_LEVEL?.toLowerCase() || 'info'
  const level = LEVELS.find(one => one === given)
  if (level) return level
  throw new BatonError('misconfigured', `BATON_LOG_LEVEL is ${given}; it must be one of ${LEVELS.join(', ')}`)
}

/** The worker version with which this process claims. A construct sets it only when the version is configured. */
export function versionOfEnvironment(): { readonly version?: string } {
  const version = process.env.BATON_WORKER_VERSION
  return version ? { version } : {}
}

/** The system of this process. @throws BatonError `misconfigured` when the environment does not name it. */
export function systemOfEnvironment(): SystemAddress {
  const jobsQueueUrl = process.env.BATON_JOBS_QUEUE_URL
  return {
    table: requiredVariable('BATON_TABLE'),
    system: requiredVariable('BATON_SYSTEM'),
    wakeQueueUrl: requiredVariable('BATON_WAKE_QUEUE_URL'),
    ...(jobsQueueUrl && { jobsQueueUrl }),
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done, { once: true })
    }),
}

export const systemChance: Chance = { ulid: monotonicUlids(ulid), fraction: () => Math.random() }
