import type { Wait } from '../core/control/wait.ts'
import type { Permit } from '../core/task.ts'

/** What limits have to do with a task, as attribute values of its head. */

/** `at` and `terms` of a turn; neither of a permit. */
export type WaitValue = { readonly of: string; readonly at?: number; readonly terms?: string }

export function waitValue(wait: Wait): WaitValue {
  return wait.kind === 'turn' ? { of: wait.limit, at: wait.at, terms: wait.terms } : { of: wait.limit }
}

export function waitFrom({ of: limit, at, terms = '' }: WaitValue): Wait {
  return at === undefined ? { kind: 'permit', limit } : { kind: 'turn', limit, at, terms }
}

/** Holders by their limits. */
export function permitsValue(permits: readonly Permit[] | undefined): Record<string, string> | undefined {
  return permits && Object.fromEntries(permits.map(({ limit, holder }) => [limit, holder]))
}

export function permitsFrom(value: Readonly<Record<string, string>> | undefined): Permit[] | undefined {
  return value && Object.entries(value).map(([limit, holder]) => ({ limit, holder }))
}
