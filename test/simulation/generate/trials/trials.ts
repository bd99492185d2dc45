import { hash32 } from '../../../../shared/core/values/text.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import type { Scenario, TrialName } from '../../scenario.ts'
import { createDice } from '../dice.ts'
import { afterRuns } from './changes/after-runs.ts'
import { bodies } from './changes/bodies.ts'
import { coalesced } from './changes/coalesced.ts'
import { edits } from './changes/edits.ts'
import { movedTypes } from './changes/moved-types.ts'
import { quickRestarts } from './changes/quick-restarts.ts'
import { regrouped } from './changes/regrouped.ts'
import { restarts, stages } from './changes/restarts-and-stages.ts'
import { signals } from './changes/signals.ts'
import { damagedHeads } from './damaged-heads.ts'
import { faults } from './faults.ts'
import { oddErrors } from './odd-errors.ts'
import { oddResults } from './odd-results.ts'
import { owedCallbacks } from './owed-callbacks.ts'
import { purgedCanvases } from './purged-canvases.ts'
import { purges } from './purges.ts'
import { backlog } from './queueing/backlog.ts'
import { costs } from './queueing/costs.ts'
import { crowd } from './queueing/crowd.ts'
import { front } from './queueing/front.ts'
import { manyPermits } from './queueing/many-permits.ts'
import { permits } from './queueing/permits.ts'
import { rates } from './queueing/rates.ts'
import { tenants } from './queueing/tenants.ts'
import { unclaimable } from './queueing/unclaimable.ts'
import { waits } from './queueing/waits.ts'
import { reports } from './reports.ts'
import { requests } from './requests.ts'
import { sagas } from './sagas.ts'
import { sizes } from './sizes.ts'
import { clockSteps } from './timing/clock-steps.ts'
import { expiry } from './timing/expiry.ts'
import { idleDays } from './timing/idle-days.ts'
import { lateTicks } from './timing/late-ticks.ts'
import { looks } from './timing/looks.ts'
import { missedTicks } from './timing/missed-ticks.ts'
import { nightly } from './timing/nightly.ts'
import { outage, schedulerOutage } from './timing/outages.ts'
import { overdue } from './timing/overdue.ts'
import { ownRetries } from './timing/own-retries.ts'
import { stuck } from './timing/stuck.ts'
import type { Trial } from './trial.ts'

type DrawnTrial = {
  /** The share of all seeds that are drawn as this trial. Trials that cost much time are rare. */
  readonly share: number
  readonly draw: Trial
  /**
   * Hashed with the seed. It differs from the name where a trial was renamed, so that its seeds keep their
   * scenarios. @default the trial's name
   */
  readonly salt?: string
}

const TRIALS: Readonly<Record<TrialName, DrawnTrial>> = {
  crowd: { share: 0.005, draw: crowd },
  outage: { share: 0.02, draw: outage },
  'scheduler-outage': { share: 0.01, draw: schedulerOutage },
  looks: { share: 0.005, draw: looks },
  'clock-steps': { share: 0.01, draw: clockSteps },
  backlog: { share: 0.005, draw: backlog },
  tenants: { share: 0.005, draw: tenants },
  expiry: { share: 0.02, draw: expiry },
  restarts: { share: 0.01, draw: restarts },
  stages: { share: 0.01, draw: stages },
  signals: { share: 0.01, draw: signals },
  nightly: { share: 0.02, draw: nightly },
  faults: { share: 0.01, draw: faults },
  reports: { share: 0.01, draw: reports, salt: 'words' },
  overdue: { share: 0.015, draw: overdue },
  'moved-types': { share: 0.01, draw: movedTypes },
  'purged-canvases': { share: 0.025, draw: purgedCanvases },
  'idle-days': { share: 0.003, draw: idleDays },
  front: { share: 0.006, draw: front },
  coalesced: { share: 0.02, draw: coalesced },
  'owed-callbacks': { share: 0.02, draw: owedCallbacks },
  'late-ticks': { share: 0.01, draw: lateTicks },
  'quick-restarts': { share: 0.02, draw: quickRestarts },
  permits: { share: 0.04, draw: permits },
  sagas: { share: 0.02, draw: sagas },
  edits: { share: 0.02, draw: edits },
  rates: { share: 0.006, draw: rates },
  regrouped: { share: 0.02, draw: regrouped },
  'many-permits': { share: 0.02, draw: manyPermits },
  unclaimable: { share: 0.01, draw: unclaimable },
  'own-retries': { share: 0.05, draw: ownRetries },
  'odd-errors': { share: 0.02, draw: oddErrors },
  waits: { share: 0.03, draw: waits },
  requests: { share: 0.02, draw: requests },
  'missed-ticks': { share: 0.005, draw: missedTicks },
  bodies: { share: 0.02, draw: bodies },
  'damaged-heads': { share: 0.015, draw: damagedHeads },
  sizes: { share: 0.006, draw: sizes },
  'odd-results': { share: 0.01, draw: oddResults },
  stuck: { share: 0.006, draw: stuck },
  'after-runs': { share: 0.02, draw: afterRuns },
  costs: { share: 0.05, draw: costs },
  purges: { share: 0.01, draw: purges },
}

export const TRIAL_NAMES = Object.keys(TRIALS) as TrialName[]

export function isTrial(name: string | undefined): name is TrialName {
  return name !== undefined && Object.hasOwn(TRIALS, name)
}

/**
 * The trial that a seed is drawn as; undefined for most seeds. It is drawn by a chance of its own, so that all
 * other seeds stay as they are.
 */
export function trialOf(seed: number): TrialName | undefined {
  let drawn = createSeededChance(hash32(`trial of ${seed}`)).fraction()
  for (const name of TRIAL_NAMES) {
    drawn -= TRIALS[name].share
    if (drawn < 0) return name
  }
  return undefined
}

export function drawTrial(name: TrialName, seed: number): Scenario {
  return TRIALS[name].draw(
    createDice(createSeededChance(hash32(`${TRIALS[name].salt ?? name} ${seed}`))),
    seed,
  )
}
