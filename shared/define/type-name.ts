import { BatonError } from '../core/errors.ts'
import { MAX_TYPE_LENGTH, TYPE_NAME_PATTERN } from '../core/limits.ts'
import { reservedFor } from '../core/reserved-types.ts'

const PATTERN = new RegExp(TYPE_NAME_PATTERN)

/** @throws BatonError `invalid` when `type` is not 1–100 of letters, digits, dot, underscore, hyphen, or is reserved. */
export function refuseTypeName(type: string): void {
  if (!PATTERN.test(type)) {
    throw new BatonError(
      'invalid',
      `'${type}' is no task type: give 1–${MAX_TYPE_LENGTH} of A–Z a–z 0–9 . _ -`,
    )
  }
  const taken = reservedFor(type)
  if (taken) throw new BatonError('invalid', `'${type}' is no task type: it ${taken}`)
}
