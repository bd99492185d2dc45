import { BatonError } from '../core/errors.ts'
import type { SystemAddress } from './system.ts'

/** An environment variable that the constructs set. @throws BatonError `misconfigured` when it is missing. */
export function requiredVariable(name: string): string {
  const value = process.env[name]
  if (!value) throw new BatonError('misconfigured', `environment variable ${name} is not set`)
  return value
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** The least level of log lines of a worker of one's own: `BATON_LOG_LEVEL`. @throws BatonError `misconfigured` for what is none. */
export function logLevelOfEnvironment(): (typeof LEVELS)[number] {
  const given = process.env.BATON_LOG_LEVEL?.toLowerCase() || 'info'
  const level = LEVELS.find(one => one === given)
  if (level) return level
  throw new BatonError('misconfigured', `BATON_LOG_LEVEL is ${given}; give ${LEVELS.join(', ')}`)
}

/** Under which version this process claims; none, unless its construct says one. */
export function versionOfEnvironment(): { readonly version?: string } {
  const version = process.env.BATON_WORKER_VERSION
  return version ? { version } : {}
}

/** Which system this process belongs to. @throws BatonError `misconfigured` when the environment does not say. */
export function systemOfEnvironment(): SystemAddress {
  const jobsQueueUrl = process.env.BATON_JOBS_QUEUE_URL
  return {
    table: requiredVariable('BATON_TABLE'),
    system: requiredVariable('BATON_SYSTEM'),
    wakeQueueUrl: requiredVariable('BATON_WAKE_QUEUE_URL'),
    ...(jobsQueueUrl && { jobsQueueUrl }),
  }
}
