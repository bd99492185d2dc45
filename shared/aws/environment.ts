import { BatonError } from '../core/errors.ts'
import type { SystemAddress } from './system.ts'

/** An environment variable that the constructs set. @throws BatonError `misconfigured` when it is missing. */
export function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new BatonError('misconfigured', `environment variable ${name} is not set`)
  return value
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
    table: required('BATON_TABLE'),
    system: required('BATON_SYSTEM'),
    wakeQueueUrl: required('BATON_WAKE_QUEUE_URL'),
    ...(jobsQueueUrl && { jobsQueueUrl }),
  }
}
