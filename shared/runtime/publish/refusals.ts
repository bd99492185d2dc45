import type { FieldProblem } from '../../core/errors.ts'
import type { System } from '../kernel/system.ts'
import { registeredNames } from '../types/registered-names.ts'
import type { UnknownType } from './resolve-publication.ts'

/** Why a request cannot be published, whatever task has its key. */
export type PublishRefusal =
  /**
   * `unknown`: the types that are not registered, of the task itself or of its callbacks, and where the request
   * names them.
   */
  | {
      readonly ok: false
      readonly reason: 'unknown-type'
      readonly unknown: readonly UnknownType[]
      readonly existing: readonly string[]
    }
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }

type Outcome = { readonly ok: boolean; readonly reason?: string }

/** The refusal of a request with these problems. Unknown types come first, because other problems may follow from them. */
export function refusalOf({
  problems = [],
  unknown,
}: {
  readonly problems?: readonly FieldProblem[]
  readonly unknown: readonly UnknownType[]
}): PublishRefusal {
  if (unknown.length > 0) return { ok: false, reason: 'unknown-type', unknown, existing: [] }
  return { ok: false, reason: 'invalid', problems }
}

/** Adds the registered types to refusals of unknown types. They are listed once for all outcomes. */
export async function withRegisteredTypes<One extends Outcome>(
  system: System,
  outcomes: readonly One[],
): Promise<One[]> {
  if (!outcomes.some(isUnknown)) return [...outcomes]
  const existing = await registeredNames(system)
  return outcomes.map(outcome => (isUnknown(outcome) ? { ...outcome, existing } : outcome))
}

function isUnknown({ ok, reason }: Outcome): boolean {
  return !ok && reason === 'unknown-type'
}
