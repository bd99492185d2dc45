import type { TrialName } from './scenario.ts'

/**
 * Trials that the code does not pass yet. No seed is drawn as one of them; `--only` plays them nevertheless. What is
 * taken off this list is played from then on, and the invariants and planted faults that name it judge every scenario.
 */
export const PENDING: readonly TrialName[] = [
  'crowd',
  'scheduler-outage',
  'looks',
  'clock-steps',
  'backlog',
  'tenants',
  'restarts',
  'stages',
  'signals',
]

export function isPending(trial: TrialName | undefined): boolean {
  return trial !== undefined && PENDING.includes(trial)
}
