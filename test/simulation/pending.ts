import type { TrialName } from './scenario.ts'

/**
 * Trials that the code does not pass yet. No seed is drawn as one of them; `--only` plays them nevertheless. What is
 * taken off this list is played from then on; the invariants that wait for it judge every scenario, and its planted faults
 * are tried.
 */
const PENDING: readonly TrialName[] = ['backlog']

export function isPending(trial: string | undefined): boolean {
  return PENDING.some(pending => pending === trial)
}
