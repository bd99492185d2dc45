import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { slotsOfTickets } from '../limits/start.ts'
import type { Claimed } from './claim.ts'
import { type ClaimResult, claimReady } from './claim-ready.ts'

/**
 * A ticket is a dispatch of a type whose tasks run in order. It says that one task of the type may be claimed. Its receiver
 * claims the best waiting task, which may be the one that the ticket names. Each task in a ready place has a ticket. So a
 * ticket whose named task is taken still stands for another task.
 */

/** A ticket that found no task is sent back at most this many times, since an index may show a task late. */
export const TICKET_PASSES_MAX = 2
export const TICKET_PASS_DELAY_S = 1

/**
 * Claims the best waiting tasks for tickets of one type, one task for each ticket. A task that a limit holds back is
 * written down to wait for the limit, and uses up a ticket, too.
 */
export function claimByTickets(
  system: System,
  type: TaskType,
  claimer: Claimer,
  named: readonly Task[],
): Promise<ClaimResult> {
  const targets = [...new Map(named.map(task => [task.id, task])).values()]
  const wanted = named.length
  return claimReady(system, [type], claimer, { wanted, targets, slotUse: slotsOfTickets(targets) })
}

/** The outcome of a ticket: a claim, a task that waits for a limit now, or no task. */
type TicketOutcome = Claimed | 'waits-for-limit' | 'no-task'

/**
 * Claims for one ticket of a worker process. One claim of a type is in progress at a time. Tickets that arrive meanwhile
 * wait, and are then claimed for together.
 */
export type TicketWaitList = (type: TaskType, named: Task) => Promise<TicketOutcome>

type WaitingTicket = {
  readonly type: TaskType
  readonly named: Task
  resolve(outcome: TicketOutcome): void
  reject(error: unknown): void
}

export function createTicketWaitList(system: System, claimer: Claimer): TicketWaitList {
  const lines = new Map<string, WaitingTicket[]>()
  const serve = async (name: string) => {
    for (let waiting = lines.get(name); waiting?.length; waiting = lines.get(name)) {
      lines.set(name, [])
      await claimForAll(system, claimer, waiting)
    }
    lines.delete(name)
  }
  return (type, named) =>
    new Promise((resolve, reject) => {
      const name = workOf(named).type
      const waiting = lines.get(name)
      lines.set(name, [...(waiting ?? []), { type, named, resolve, reject }])
      if (!waiting) void serve(name)
    })
}

/** Claims for the waiting tickets, by the type as the latest of them read it: the list may be served for hours. */
async function claimForAll(
  system: System,
  claimer: Claimer,
  tickets: readonly WaitingTicket[],
): Promise<void> {
  const latest = tickets.at(-1)
  if (!latest) return
  try {
    const named = tickets.map(one => one.named)
    const { claimed, waiting } = await claimByTickets(system, latest.type, claimer, named)
    const waitsForLimit = (nth: number) => nth < claimed.length + waiting
    for (const [nth, { resolve }] of tickets.entries()) {
      resolve(claimed[nth] ?? (waitsForLimit(nth) ? 'waits-for-limit' : 'no-task'))
    }
  } catch (error) {
    for (const { reject } of tickets) reject(error)
  }
}
