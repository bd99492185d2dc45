import { BatonError } from '../shared/core/errors.ts'

/** Tells functions and containers the version under which they claim. */
export const WORKER_VERSION = 'BATON_WORKER_VERSION'

/** @throws BatonError `invalid` when a user's environment variable takes a name of Baton. */
export function refuseReserved(environment: Readonly<Record<string, string>> = {}): void {
  const reserved = Object.keys(environment).find(name => name.startsWith('BATON_'))
  if (reserved)
    throw new BatonError('invalid', `environment variable ${reserved}: names with BATON_ belong to Baton`)
}
