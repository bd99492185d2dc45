import type { WhyAnswer } from '../../../../shared/api/diagnosis/why.ts'
import { liveRuns } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'
import { servingTypeOf } from '../pieces.ts'
import { clockErrorMs, sightingsOf } from './sightings.ts'
import { onAnswers, type Read } from './why.ts'

/** A task counts as stuck after this time without a sign of life. See *Stuck tasks* in `docs/operations.md`. */
const STUCK_MS = 15 * 60_000
/** The sweeper has read every task of a small system by then, and has reported it. */
const REPORTED_MS = 18 * 60_000
const REPORTED_EVERY_MS = 3 * 60_000

/** Promises about stuck tasks: each is reported and counted, and no other task is called stuck. */
export const STUCK_INVARIANTS: readonly Invariant[] = [
  onAnswers<WhyAnswer>(
    'a task that nothing delays is reported as stuck after 15 minutes without a sign of life',
    'why',
    (why, read, scenario) => {
      const isWaiting = why.reason === 'dispatched' || why.reason === 'crashing'
      if (!isWaiting || !hasEmptyQueues(scenario, read)) return undefined
      const quietMs = Math.min(...ownHeads(why.id, read, scenario).map(head => read.from - lastSignOf(head)))
      const isStuck = quietMs > STUCK_MS + clockErrorMs(scenario) && isUnchanged(why.id, read, scenario)
      return isStuck
        ? `${why.id} has shown no sign of life for ${quietMs} ms, and is said to be ${why.reason}`
        : undefined
    },
  ),
  onAnswers<WhyAnswer>(
    'a task that waits behind runs of HTTP workers is not reported as stuck',
    'why',
    ({ id, reason }, read, scenario) => {
      const heads = ownHeads(id, read, scenario)
      if (reason !== 'stuck' || heads.some(head => liveRuns(head).length > 0)) return undefined
      const type = heads.map(servingTypeOf)[0]
      const isOverHttp = scenario.types.some(one => one.type === type && one.servedBy === 'http')
      const busy = [...sightingsOf(scenario).ids()].find(other => isRunOf(other, type, read, scenario))
      return isOverHttp && busy !== undefined
        ? `${id} is said to be stuck, though ${busy} is worked on`
        : undefined
    },
  ),
  {
    name: 'the stuck tasks are counted: each one, and no other task',
    watch: scenario => {
      const heads = new Map<string, SeenHead>()
      const reportedAt = new Map<string, number>()
      return {
        on: event => {
          if (event.what === 'write') heads.set(event.after.id, event.after)
          if (event.what === 'expired') heads.delete(event.id)
          if (event.what === 'stuck') {
            reportedAt.set(event.type, event.at)
            return wrongCount(event, [...heads.values()], scenario)
          }
          if (event.what !== 'minute' || !hasEmptyQueues(scenario, event)) return undefined
          const missing = [...heads.values()].find(
            head =>
              isByLambda(head, scenario) &&
              isQuietSince(head, event.at - REPORTED_MS) &&
              event.at - (reportedAt.get(head.type) ?? START) > REPORTED_EVERY_MS,
          )
          return missing && `${missing.id} is stuck, and nothing reports it`
        },
      }
    },
  },
]

type Reported = Extract<HistoryEvent, { readonly what: 'stuck' }>

function wrongCount(
  { type, tasks, at }: Reported,
  heads: readonly SeenHead[],
  scenario: Scenario,
): string | undefined {
  const own = heads.filter(head => head.type === type)
  const most = own.filter(head => isQuietSince(head, at + clockErrorMs(scenario) - STUCK_MS)).length
  const least = hasEmptyQueues(scenario, { at })
    ? own.filter(head => isByLambda(head, scenario) && isQuietSince(head, at - REPORTED_MS)).length
    : 0
  return tasks < least || tasks > most
    ? `${tasks} tasks of ${type} are reported as stuck, not ${least} to ${most}`
    : undefined
}

/** Whether the task waits for work or owes callbacks that can be published, and has shown no sign of life since. */
function isQuietSince(head: SeenHead, time: number): boolean {
  const isWaiting = head.state === 'open' || (head.owes === true && !head.unpublished)
  return isWaiting && !head.canvas && !head.schedule && lastSignOf(head) <= time
}

function lastSignOf(head: SeenHead): number {
  const { updatedAt, dueAt, owes } = head
  const leases = liveRuns(head).map(({ leaseUntil }) => leaseUntil)
  return Math.max(updatedAt, owes ? updatedAt : dueAt, ...leases)
}

/** Whether all messages have been lost so far. So nothing is ahead of a task of a Lambda, and nothing will help it. */
function hasEmptyQueues({ trial, calmAt }: Scenario, { at }: Pick<Read, 'at'>): boolean {
  return trial === 'stuck' && at < START + calmAt
}

function isByLambda(head: SeenHead, { types }: Scenario): boolean {
  return (
    head.state === 'open' &&
    types.some(({ type, servedBy }) => type === servingTypeOf(head) && servedBy === 'lambda')
  )
}

function ownHeads(id: string, read: Read, scenario: Scenario): SeenHead[] {
  return sightingsOf(scenario)
    .ownHeads(id, read)
    .flatMap(head => head ?? [])
}

/** Whether the type of a Lambda's task has been as it is for 15 minutes, too. */
function isUnchanged(id: string, read: Read, scenario: Scenario): boolean {
  return ownHeads(id, read, scenario).every(
    head =>
      isByLambda(head, scenario) &&
      sightingsOf(scenario)
        .types(servingTypeOf(head), read)
        .every(({ updatedAt }) => updatedAt < read.from - STUCK_MS - clockErrorMs(scenario)),
  )
}

function isRunOf(id: string, type: string | undefined, read: Read, scenario: Scenario): boolean {
  const heads = sightingsOf(scenario).heads(id, read)
  return heads.every(head => head && servingTypeOf(head) === type && liveRuns(head).length > 0)
}
