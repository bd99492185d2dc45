import { BatonError } from '../core/errors.ts'
import { typeNameProblems } from '../core/rules/type-configuration.ts'

/** @throws BatonError `invalid` when `type` is not 1–100 letters, digits, dots, underscores and hyphens, or is reserved. */
export function refuseTypeName(type: string): void {
  const problems = typeNameProblems(type, 'type')
  const [first] = problems
  if (first)
    throw new BatonError('invalid', `'${type}' is not a task type: it ${first.message}`, { problems })
}
