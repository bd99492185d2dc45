import type { WhyAnswer } from '../../../../shared/api/diagnosis/why.ts'
import { endedRuns, liveRuns, successes } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import { servingTypeOf } from '../pieces.ts'
import { delayCauseOf } from './delay-causes.ts'
import { clockErrorMs, type Sightings, type Window } from './sightings.ts'

/** When each reason of `docs/waiting.md` may be told of a task. */

const STUCK_MS = 15 * 60_000
/** By this time every type of a scenario is deployed, unless its weather refuses calls. */
const DEPLOYED_MS = 20_000

type Moment = Window & { readonly scenario: Scenario; readonly sightings: Sightings }
type Claim = (head: SeenHead, moment: Moment) => boolean

/** Whether a reason is true of a head at some time of the window. */
export function isTrue(reason: string, head: SeenHead, moment: Moment): boolean {
  return CLAIMS[reason as WhyAnswer['reason']]?.(head, moment) ?? false
}

const CLAIMS: Readonly<Partial<Record<WhyAnswer['reason'], Claim>>> = {
  running: head => isOpen(head) && !isIdle(head),
  stuck: (head, moment) =>
    (isOpen(head) || head.owes === true) && quietSince(head) <= latest(moment) - STUCK_MS,
  'callbacks-owed': head => head.owes === true,
  due: (head, moment) => isDelayed(head, moment) && delayCauseOf(head) !== 'retry',
  retry: (head, moment) => !hasCrashed(head) && waitsForRetry(head, moment),
  crashing: head => isIdle(head) && hasCrashed(head),
  paused: (head, moment) => isDue(head, moment) && pauses(head, moment).includes(true),
  'step-paused': (head, moment) =>
    isDue(head, moment) && servingTypeOf(head) !== head.type && pauses(head, moment).includes(true),
  'concurrency-limit': (head, moment) => isUnderLimit(head, moment, 'concurrency'),
  'rate-limit': (head, moment) => isUnderLimit(head, moment, 'rate'),
  'no-handler': (head, moment) => mayRun(head, moment) && isPerhapsUnserved(head, moment),
  'no-worker': (head, moment) => mayRun(head, moment) && !isByLambda(head, moment),
  'target-worker': (head, moment) => mayRun(head, moment) && head.options.workerIds.length > 0,
  'target-offline': (head, moment) => mayRun(head, moment) && head.options.workerIds.length > 0,
  'worker-version': (head, moment) => mayRun(head, moment) && head.options.minWorkerVersion !== undefined,
  'workers-spent': (head, moment) =>
    mayRun(head, moment) && head.options.workerIds.length === 0 && hasRuns(head),
  backlog: (head, moment) => mayRun(head, moment) && !(hasCrashed(head) && isLively(head, moment)),
  dispatched: (head, moment) => mayRun(head, moment) && !hasCrashed(head),
  'undo-failed': head => head.state === 'failed' && isHalted(head) && !head.owes,
  succeeded: head => head.state === 'succeeded' && !head.owes,
  failed: head => head.state === 'failed' && !isHalted(head) && !head.owes,
  cancelled: head => head.state === 'cancelled' && !head.owes,
}

function isOpen({ state }: SeenHead): boolean {
  return state === 'open'
}

function isIdle(head: SeenHead): boolean {
  return isOpen(head) && liveRuns(head).length === 0 && successes(head).length < head.options.concurrency
}

function isHalted({ flow }: SeenHead): boolean {
  return Object.values(flow?.steps ?? {}).some(({ state }) => state === 'undo-failed')
}

function hasRuns(head: SeenHead): boolean {
  return endedRuns(head).length > 0 || head.failures > 0
}

/** The newest ended run of the present piece. */
function lastRun(head: SeenHead) {
  return endedRuns(head)
    .filter(({ past }) => !past)
    .sort((a, b) => b.fence - a.fence)[0]
}

/** Whether a lost run is the newest one. It explains a wait better than a queue does, for 15 minutes. */
function hasCrashed(head: SeenHead): boolean {
  return lastRun(head)?.state === 'lost'
}

function isLively(head: SeenHead, moment: Moment): boolean {
  return quietSince(head) > latest(moment) - STUCK_MS
}

function earliest({ from, scenario }: Moment): number {
  return from - clockErrorMs(scenario)
}

function latest({ at, scenario }: Moment): number {
  return at + clockErrorMs(scenario)
}

function isDelayed(head: SeenHead, moment: Moment): boolean {
  return isIdle(head) && head.dueAt > earliest(moment)
}

function isDue(head: SeenHead, moment: Moment): boolean {
  return isIdle(head) && head.dueAt <= latest(moment)
}

function waitsForRetry(head: SeenHead, moment: Moment): boolean {
  return isDelayed(head, moment) ? delayCauseOf(head) !== 'set' : waitsForOwnRetries(head, moment)
}

function waitsForOwnRetries(head: SeenHead, moment: Moment): boolean {
  return isIdle(head) && Object.values(head.retryAtBy).some(time => time > earliest(moment))
}

/** Since when nothing was heard of the task. */
function quietSince({ updatedAt, dueAt, owes }: SeenHead): number {
  return owes ? updatedAt : Math.max(updatedAt, dueAt)
}

/** Whether one of the types of the task was paused, for each stored form of these types in the window. */
function pauses(head: SeenHead, { sightings, ...moment }: Moment): boolean[] {
  return [head.type, servingTypeOf(head)].flatMap(name =>
    sightings.types(name, moment).map(({ paused }) => paused === true),
  )
}

/** Whether nothing but a missing worker keeps the task from running: it is due, and its types were not paused all the time. */
function mayRun(head: SeenHead, moment: Moment): boolean {
  const { sightings, ...window } = moment
  const isPausedThroughout = [head.type, servingTypeOf(head)].some(name => {
    const types = sightings.types(name, window)
    return types.length > 0 && types.every(({ paused }) => paused === true)
  })
  return isDue(head, moment) && !isPausedThroughout && head.wait === undefined
}

function isUnderLimit(head: SeenHead, moment: Moment, kind: 'concurrency' | 'rate'): boolean {
  const names = [head.type, servingTypeOf(head)]
  const has = names.some(name =>
    moment.sightings
      .types(name, moment)
      .some(({ configuration }) => configuration.limits?.[kind] !== undefined),
  )
  const waitsForIt = head.wait === undefined || (head.wait.kind === 'permit') === (kind === 'concurrency')
  return has && isDue(head, moment) && waitsForIt
}

/** Whether the handler of the task may be missing: its type was withdrawn or moved at some time, or is just being deployed. */
function isPerhapsUnserved(
  head: SeenHead,
  { from, scenario: { steps, types, weather, outages } }: Moment,
): boolean {
  const isKnown = types.some(({ type, servedBy }) => type === servingTypeOf(head) && servedBy !== 'http')
  const isCertain = weather.slow + weather.refused + weather.death + weather.freeze === 0 && !outages
  const isWithdrawn = steps.some(step => step.do === 'withdraw' || step.do === 'move-type')
  return !isKnown || isWithdrawn || !isCertain || from < START + DEPLOYED_MS
}

function isByLambda(head: SeenHead, { scenario: { types, steps } }: Moment): boolean {
  if (steps.some(step => step.do === 'move-type' || step.do === 'withdraw')) return false
  const isAnyWorkers = head.options.workerIds.length === 0 && head.options.minWorkerVersion === undefined
  return (
    isAnyWorkers && types.some(({ type, servedBy }) => type === servingTypeOf(head) && servedBy === 'lambda')
  )
}
