import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { Delivery } from '../../ports/messages.ts'
import type { System } from '../kernel/system.ts'
import { type ClaimResult, claimReady } from './claim-ready.ts'
import type { Claimed } from './claimed-task.ts'

/** A dispatch of a type that is run in order; see `dispatch/dispatch.ts`. */
export type Ticket = Pick<Delivery, 'task' | 'passedOn'>

/**
 * Why no task was claimed for a ticket.
 *
 * - `paused`              the type is paused
 * - `no-task`             no task waits
 * - `not-needed`          a found task waits for a limit or was released, and gets a new ticket; or two tickets named one task
 * - `suspect-runs-alone`  no task was found, but tasks were released since a suspect runs alone; see `dispatch/serve-dispatches.ts`
 */
export type TicketRefusal = 'paused' | 'no-task' | 'not-needed' | 'suspect-runs-alone'

/** Claims the best waiting task of the type for a ticket, together with other tickets. */
export type ClaimByTicket = (type: TaskType, ticket: Ticket) => Promise<Claimed | TicketRefusal>

/**
 * Claims the best waiting tasks for tickets of one type, one task for each ticket. A task that a limit holds back uses up a ticket, too.
 */
export function claimByTickets(
  system: System,
  type: TaskType,
  claimer: Claimer,
  named: readonly Task[],
): Promise<ClaimResult> {
  const targets = [...new Map(named.map(task => [task.id, task])).values()]
  const wanted = named.length
  return claimReady(system, [type], claimer, {
    wanted,
    targets,
    slotUse: { kind: 'wait-for-slot', isBest: true },
  })
}

type WaitingTicket = {
  readonly type: TaskType
  readonly ticket: Ticket
  resolve(outcome: Claimed | TicketRefusal): void
  reject(error: unknown): void
}

/**
 * Claims for the tickets of a worker process. One claim of a type is in progress at a time. Tickets that arrive meanwhile
 * wait, and are then claimed for together.
 */
export function createTicketClaimer(system: System, claimer: Claimer): ClaimByTicket {
  const waitLists = new Map<string, WaitingTicket[]>()
  const serve = async (name: string) => {
    for (let waiting = waitLists.get(name); waiting?.length; waiting = waitLists.get(name)) {
      waitLists.set(name, [])
      await claimForAll(system, claimer, waiting)
    }
    waitLists.delete(name)
  }
  return (type, ticket) =>
    new Promise((resolve, reject) => {
      const name = workOf(ticket.task).type
      const waiting = waitLists.get(name)
      waitLists.set(name, [...(waiting ?? []), { type, ticket, resolve, reject }])
      if (!waiting) void serve(name)
    })
}

/** Claims for the waiting tickets. Uses the type as the latest ticket read it, because the wait list may be served for hours. */
async function claimForAll(
  system: System,
  claimer: Claimer,
  tickets: readonly WaitingTicket[],
): Promise<void> {
  const latest = tickets.at(-1)
  if (!latest) return
  try {
    const named = tickets.map(one => one.ticket.task)
    const { claimed, waiting } = await claimByTickets(system, latest.type, claimer, named)
    const waitsForLimit = (nth: number) => nth < claimed.length + waiting
    for (const [nth, { resolve }] of tickets.entries()) {
      resolve(claimed[nth] ?? (waitsForLimit(nth) ? 'not-needed' : 'no-task'))
    }
  } catch (error) {
    for (const { reject } of tickets) reject(error)
  }
}
