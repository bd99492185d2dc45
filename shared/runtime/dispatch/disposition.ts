import { QUEUE_DELAY_MS_MAX } from '../../core/bounds.ts'
import type { Delivery } from '../../ports/messages.ts'
import type { NotClaimed } from '../claim/claim.ts'
import type { TicketRefusal } from '../claim/claim-by-ticket.ts'

/** Why a dispatch leads to no run, or to a run whose end was not written. */
export type Obstacle =
  /** Its task cannot start yet, or its receiver must claim no more tasks. */
  | { readonly kind: 'early'; readonly delaySeconds: number }
  /** The claim of the task that it names was refused. */
  | { readonly kind: 'refused'; readonly why: NotClaimed['refused'] }
  /** It is a ticket, and no task was claimed for it. */
  | { readonly kind: 'ticket-refused'; readonly why: TicketRefusal }
  /** The store or the queue failed. */
  | { readonly kind: 'failed'; readonly isOutage: boolean; readonly isClaimedByTicket: boolean }

export type Disposition =
  /** Its message is deleted. `isChainOver`: it would be put back, but functions have sent it on too often. */
  | { readonly to: 'drop'; readonly isChainOver?: true }
  /** Its message stays in the queue, which delivers it again after the visibility timeout. */
  | { readonly to: 'leave'; readonly isChainOver?: true }
  /** It returns to its queue, where any worker may receive it after the delay. */
  | {
      readonly to: 'put-back'
      readonly delaySeconds: number
      readonly passedOn: number
      /** The dispatch is dropped instead if the stored task is not as the dispatch shows it. */
      readonly ifUnchanged?: true
    }

/** How a kind of receiver treats dispatches that it does not run. */
export type Receiver = {
  /** The refusals after which another worker may claim the task, or this worker later. It then passes the dispatch on. */
  readonly passesOn: ReadonlyArray<NotClaimed['refused']>
  /**
   * For this time after its task changed or fell due, a dispatch is passed on without a bound, so that it soon reaches a
   * worker that may take the task. Later it is passed on at most `PASSES_MAX` times. Without `freshMs`, the bound always holds.
   */
  readonly freshMs?: number
  /** Whether it reads the task before it passes a dispatch on, and drops the dispatch of a changed task. */
  readonly passesUnchangedOnly?: true
  /** Whether it sends a new copy of a dispatch that met an outage. Otherwise the message stays in its queue. */
  readonly sendsAgainAfterOutage: boolean
  /** Dispatches are sent on at most this many times, for any reason. @default without a bound */
  readonly hopsMax?: number
  /** After a failure, a dispatch occupies its receiver for this long. */
  readonly failurePauseMs?: number
}

/**
 * Functions send a dispatch on at most this many times. The reason: Lambda refuses the 17th invocation of one function in a
 * chain of messages, and a batch continues its longest chain.
 */
export const DISPATCH_HOPS_MAX = 12

/**
 * A function. Each invocation is a worker of its own, so it cannot meet a run of its own, and all have the same version. So
 * the only refusal after which it passes a dispatch on is that another worker is about to claim the task. After the last
 * pass that worker has claimed it, or has died.
 */
export const FUNCTION: Receiver = {
  passesOn: ['being-claimed'],
  sendsAgainAfterOutage: true,
  hopsMax: DISPATCH_HOPS_MAX,
}

/**
 * A standalone worker. A change of a task causes a dispatch of its own, so only a dispatch of the unchanged task is
 * passed on. Without the pause after a failure, an outage would drain the queues.
 */
export const WORKER: Receiver = {
  passesOn: [
    ...(['holds-run', 'already-succeeded', 'not-allowed'] as const),
    ...(['budget-spent', 'waits-for-own-retry', 'being-claimed'] as const),
  ],
  freshMs: 60_000,
  passesUnchangedOnly: true,
  sendsAgainAfterOutage: false,
  failurePauseMs: 1_000,
}

const PASS_DELAY_S = 1
/** A dispatch of a task that is not fresh is passed on at most this many times. */
const PASSES_MAX = 10

/** The delay of a ticket that is passed on, by the reason. A ticket with another reason is dropped. */
const TICKET_PASS_DELAYS_S: { readonly [Why in TicketRefusal]?: number } = {
  'no-task': 1,
  'suspect-runs-alone': 0,
}
/** A ticket is passed on at most this many times: an index may show a task late. */
export const TICKET_PASSES_MAX = 2

/**
 * A dispatch that met an outage is sent again with this delay. Otherwise its message would stay hidden for the visibility
 * timeout. From the fifth time on the delay doubles, so that the chain of messages spans outages of an hour.
 */
const OUTAGE_DELAY_S = 20
const OUTAGE_DELAYS_ALIKE = 4

type Dispatched = Pick<Delivery, 'task' | 'passedOn' | 'hops'>

/** The one rule about dispatches that do not lead to a run: which are dropped, left to their queue, and put back. */
export function dispositionOf(
  obstacle: Obstacle,
  dispatch: Dispatched,
  receiver: Receiver,
  now: number,
): Disposition {
  const disposition = withoutBoundOfHops(obstacle, dispatch, receiver, now)
  if (disposition.to !== 'put-back' || !isChainOver(dispatch, receiver)) return disposition
  // The sweeper repairs the loss of a ticket.
  return { to: obstacle.kind === 'ticket-refused' ? 'drop' : 'leave', isChainOver: true }
}

/** Whether functions have sent the dispatch on as often as they may. */
export function isChainOver({ hops = 0 }: Pick<Delivery, 'hops'>, { hopsMax }: Receiver): boolean {
  return hopsMax !== undefined && hops >= hopsMax
}

function withoutBoundOfHops(
  obstacle: Obstacle,
  dispatch: Dispatched,
  receiver: Receiver,
  now: number,
): Disposition {
  switch (obstacle.kind) {
    case 'early':
      return { to: 'put-back', delaySeconds: obstacle.delaySeconds, passedOn: dispatch.passedOn }
    case 'refused':
      return afterRefusal(obstacle.why, dispatch, receiver, now)
    case 'ticket-refused':
      return afterTicket(obstacle.why, dispatch)
    case 'failed':
      return receiver.sendsAgainAfterOutage ? afterFailure(obstacle, dispatch) : { to: 'leave' }
  }
}

function afterRefusal(
  why: NotClaimed['refused'],
  { task, passedOn }: Dispatched,
  { passesOn, passesUnchangedOnly, freshMs }: Receiver,
  now: number,
): Disposition {
  const isFresh = freshMs !== undefined && now - Math.max(task.updatedAt, task.dueAt) < freshMs
  const isPassable = passesOn.includes(why) && (isFresh || passedOn < PASSES_MAX)
  if (!isPassable) return { to: 'drop' }
  const ifUnchanged = passesUnchangedOnly && { ifUnchanged: true as const }
  return { to: 'put-back', delaySeconds: PASS_DELAY_S, passedOn: passedOn + 1, ...ifUnchanged }
}

function afterTicket(why: TicketRefusal, { passedOn }: Dispatched): Disposition {
  const delaySeconds = TICKET_PASS_DELAYS_S[why]
  if (delaySeconds === undefined || passedOn >= TICKET_PASSES_MAX) return { to: 'drop' }
  return { to: 'put-back', delaySeconds, passedOn: passedOn + 1 }
}

function afterFailure(
  { isOutage, isClaimedByTicket }: Extract<Obstacle, { kind: 'failed' }>,
  { passedOn, hops = 0 }: Dispatched,
): Disposition {
  // The lease guards the run, and the ticket may name another task than the claimed one.
  if (isClaimedByTicket) return { to: 'drop' }
  if (!isOutage) return { to: 'leave' }
  const doubled = OUTAGE_DELAY_S * 2 ** Math.max(0, hops - OUTAGE_DELAYS_ALIKE + 1)
  const delaySeconds = Math.min(doubled, QUEUE_DELAY_MS_MAX / 1_000)
  return { to: 'put-back', delaySeconds, passedOn }
}
