import { BatonError } from '../../shared/core/errors.ts'
import type { RefusedRead } from '../aws/call.ts'

/** What a check has found. */
export type Finding = {
  /** `wrong` needs an operator now. `notice` may be intended. */
  readonly level: 'fine' | 'notice' | 'wrong'
  /** What was checked, such as `types`. */
  readonly check: string
  readonly text: string
  /** What the user can do about it. */
  readonly next?: string
}

/** Runs a check. What AWS refuses or does not answer is a finding, because the other checks can still help. */
export async function orUnchecked(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    if (!isFailedRead(error)) throw error
    const next =
      error.cause?.next ?? (error.code === 'unavailable' ? 'check the connection, and repeat' : undefined)
    const text = `${check} could not be checked: ${error.message}`
    return [{ level: 'notice', check, text, ...(next !== undefined && { next }) }]
  }
}

function isFailedRead(error: unknown): error is BatonError & { readonly cause?: RefusedRead } {
  return error instanceof BatonError && ['refused', 'unavailable'].includes(error.code)
}

/** The findings, or that nothing is wrong. */
export function orFine(check: string, findings: readonly Finding[], text: string): Finding[] {
  return findings.length > 0 ? [...findings] : [{ level: 'fine', check, text }]
}
