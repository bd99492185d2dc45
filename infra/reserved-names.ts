import { BatonError } from '../shared/core/errors.ts'

/** @throws BatonError `invalid` when a user's environment variable takes a name of Baton. */
export function refuseReserved(environment: Readonly<Record<string, string>> = {}): void {
  const reserved = Object.keys(environment).find(name => name.startsWith('BATON_'))
  if (reserved)
    throw new BatonError('invalid', `environment variable ${reserved}: names with BATON_ belong to Baton`)
}
