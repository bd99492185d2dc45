import { BatonError, messageOf } from '../../shared/core/errors.ts'
import type { Finding } from './finding.ts'

/** Runs a check. What AWS refuses or does not answer is a finding, because the other checks can still help. */
export async function orUnchecked(
  check: string,
  permissions: readonly string[],
  run: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    const isRefused = error instanceof BatonError && error.code === 'refused'
    if (!isRefused && !(error instanceof BatonError && error.code === 'unavailable')) throw error
    const next = isRefused
      ? `grant ${permissions.join(' and ')} to check this`
      : 'check the connection, and repeat'
    return [{ level: 'notice', check, text: `${check} could not be checked: ${messageOf(error)}`, next }]
  }
}

/** The findings, or that nothing is wrong. */
export function orFine(check: string, findings: readonly Finding[], text: string): Finding[] {
  return findings.length > 0 ? [...findings] : [{ level: 'fine', check, text }]
}
