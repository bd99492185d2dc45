import { describe, expect, it } from 'vitest'
import type { Disposition, Obstacle } from '../../../shared/runtime/dispatch/disposition.ts'
import {
  DISPATCH_HOPS_MAX,
  dispositionOf,
  FUNCTION,
  WORKER,
} from '../../../shared/runtime/dispatch/disposition.ts'
import { aTask, MINUTE, NOW } from '../../support/tasks/a-task.ts'

const RECEIVERS = { function: FUNCTION, worker: WORKER }

type Case = {
  readonly receiver: keyof typeof RECEIVERS
  readonly obstacle: Obstacle
  readonly passedOn?: number
  readonly hops?: number
  /** How long ago the task fell due and changed. @default an hour */
  readonly ageMs?: number
  readonly expected: Disposition
}

const DROP: Disposition = { to: 'drop' }
const LEAVE: Disposition = { to: 'leave' }
const back = (delaySeconds: number, passedOn = 0): Disposition => ({ to: 'put-back', delaySeconds, passedOn })
const refused = (why: Extract<Obstacle, { kind: 'refused' }>['why']): Obstacle => ({ kind: 'refused', why })
const ticket = (why: Extract<Obstacle, { kind: 'ticket-refused' }>['why']): Obstacle => ({
  kind: 'ticket-refused',
  why,
})
const failed = (isOutage: boolean, isClaimedByTicket = false): Obstacle => ({
  kind: 'failed',
  isOutage,
  isClaimedByTicket,
})

const EARLY: readonly Case[] = [
  { receiver: 'function', obstacle: { kind: 'early', delaySeconds: 7 }, passedOn: 3, expected: back(7, 3) },
  { receiver: 'worker', obstacle: { kind: 'early', delaySeconds: 0 }, passedOn: 30, expected: back(0, 30) },
]

const IF_UNCHANGED = { ifUnchanged: true } as const

const REFUSED: readonly Case[] = [
  { receiver: 'function', obstacle: refused('being-claimed'), expected: back(1, 1) },
  { receiver: 'function', obstacle: refused('being-claimed'), passedOn: 9, expected: back(1, 10) },
  { receiver: 'function', obstacle: refused('being-claimed'), passedOn: 10, expected: DROP },
  { receiver: 'function', obstacle: refused('being-claimed'), passedOn: 10, ageMs: 0, expected: DROP },
  { receiver: 'function', obstacle: refused('holds-run'), ageMs: 0, expected: DROP },
  { receiver: 'function', obstacle: refused('not-allowed'), ageMs: 0, expected: DROP },
  ...(
    [
      'holds-run',
      'already-succeeded',
      'not-allowed',
      'budget-spent',
      'waits-for-own-retry',
      'being-claimed',
    ] as const
  ).map(
    (why): Case => ({
      receiver: 'worker',
      obstacle: refused(why),
      expected: { ...back(1, 1), ...IF_UNCHANGED },
    }),
  ),
  {
    receiver: 'worker',
    obstacle: refused('not-allowed'),
    passedOn: 40,
    ageMs: MINUTE - 1,
    expected: { ...back(1, 41), ...IF_UNCHANGED },
  },
  { receiver: 'worker', obstacle: refused('not-allowed'), passedOn: 10, ageMs: MINUTE, expected: DROP },
  ...(
    ['finished', 'not-due', 'gone', 'at-fault', 'paused', 'rate-limit', 'concurrency-limit'] as const
  ).flatMap(why =>
    (['function', 'worker'] as const).map(
      (receiver): Case => ({ receiver, obstacle: refused(why), ageMs: 0, expected: DROP }),
    ),
  ),
]

const TICKETS: readonly Case[] = (['function', 'worker'] as const).flatMap(receiver => [
  { receiver, obstacle: ticket('no-task'), expected: back(1, 1) },
  { receiver, obstacle: ticket('no-task'), passedOn: 1, expected: back(1, 2) },
  { receiver, obstacle: ticket('no-task'), passedOn: 2, ageMs: 0, expected: DROP },
  { receiver, obstacle: ticket('suspect-runs-alone'), expected: back(0, 1) },
  { receiver, obstacle: ticket('suspect-runs-alone'), passedOn: 2, expected: DROP },
  { receiver, obstacle: ticket('paused'), expected: DROP },
  { receiver, obstacle: ticket('not-needed'), expected: DROP },
])

const FAILED: readonly Case[] = [
  { receiver: 'worker', obstacle: failed(true), expected: LEAVE },
  { receiver: 'worker', obstacle: failed(false, true), expected: LEAVE },
  { receiver: 'function', obstacle: failed(false), expected: LEAVE },
  { receiver: 'function', obstacle: failed(true, true), expected: DROP },
  { receiver: 'function', obstacle: failed(true), passedOn: 4, expected: back(20, 4) },
  { receiver: 'function', obstacle: failed(true), hops: 3, expected: back(20) },
  { receiver: 'function', obstacle: failed(true), hops: 4, expected: back(40) },
  { receiver: 'function', obstacle: failed(true), hops: 11, expected: back(900) },
]

const OVER = { isChainOver: true } as const

const ENDS_OF_CHAINS: readonly Case[] = [
  ...[{ kind: 'early', delaySeconds: 7 } as const, refused('being-claimed'), failed(true)].map(
    (obstacle): Case => ({
      receiver: 'function',
      obstacle,
      hops: DISPATCH_HOPS_MAX,
      expected: { to: 'leave', ...OVER },
    }),
  ),
  {
    receiver: 'function',
    obstacle: ticket('no-task'),
    hops: DISPATCH_HOPS_MAX,
    expected: { to: 'drop', ...OVER },
  },
  { receiver: 'function', obstacle: ticket('paused'), hops: DISPATCH_HOPS_MAX, expected: DROP },
  { receiver: 'function', obstacle: refused('finished'), hops: DISPATCH_HOPS_MAX, expected: DROP },
  {
    receiver: 'worker',
    obstacle: { kind: 'early', delaySeconds: 7 },
    hops: DISPATCH_HOPS_MAX,
    expected: back(7),
  },
]

describe.each([
  ['comes too early', EARLY],
  ['is refused', REFUSED],
  ['is a ticket without a task', TICKETS],
  ['met a failure', FAILED],
  ['would be sent on once too often', ENDS_OF_CHAINS],
])('a dispatch that %s', (_which, cases) => {
  it.each(cases)('$receiver: $obstacle, passed on $passedOn, hops $hops, age $ageMs', one => {
    const { receiver, obstacle, passedOn = 0, hops = 0, ageMs = 60 * MINUTE, expected } = one
    const task = aTask({ dueAt: NOW - ageMs, updatedAt: NOW - ageMs })

    const disposition = dispositionOf(obstacle, { task, passedOn, hops }, RECEIVERS[receiver], NOW)

    expect(disposition).toEqual(expected)
  })
})
