import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { groupBy } from '../../core/values/records.ts'
import type { Claimed } from '../claim/claim.ts'
import {
  type ClaimByTicket,
  claimByTickets,
  type Ticket,
  type TicketRefusal,
} from '../claim/claim-by-ticket.ts'
import { endRunOrLog } from '../claim/release-run.ts'
import type { System } from '../kernel/system.ts'
import { isTicket } from '../ready/ready.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { earlyDelaySeconds } from './dispatch.ts'
import { TICKET_PASSES_MAX } from './disposition.ts'
import { suspectAlone } from './suspects.ts'

/** The outcome of a shared claim for each of its tickets. */
type Outcomes = ReadonlyMap<Ticket, Claimed | TicketRefusal>

/**
 * Claims for the tickets among the dispatches of one batch. The tickets of one type whose tasks may start now share one
 * claim. A ticket whose task starts later has a claim of its own.
 *
 * `typeOf` must give the same answer throughout the batch. Otherwise a dispatch could stop being a ticket after the
 * claim that it shares, and no handler would run the task that was claimed for it.
 */
export async function createBatchTicketClaimer(
  system: System,
  claimer: Claimer,
  typeOf: TypeReader,
  dispatches: readonly Ticket[],
): Promise<ClaimByTicket> {
  const groups = await startableTickets(system, typeOf, dispatches)
  const claims = new Map<readonly Ticket[], Promise<Outcomes>>()
  return async (type, ticket) => {
    const group = groups.find(tickets => tickets.includes(ticket)) ?? [ticket]
    const claim = claims.get(group) ?? claimForGroup(system, type, claimer, group)
    claims.set(group, claim)
    return (await claim).get(ticket) ?? 'not-needed'
  }
}

/** The tickets that may start now, in one group per type. */
async function startableTickets(
  { clock }: System,
  typeOf: TypeReader,
  dispatches: readonly Ticket[],
): Promise<ReadonlyArray<readonly Ticket[]>> {
  const now = clock.now()
  const inTime = dispatches.filter(({ task }) => earlyDelaySeconds(task, now) === undefined)
  const types = await Promise.all(inTime.map(({ task }) => typeOf(workOf(task).type)))
  const startable = inTime.filter(
    ({ task }, nth) => types[nth] && isTicket(task, types[nth]) && task.dueAt <= now,
  )
  return [...groupBy(startable, ({ task }) => workOf(task).type).values()]
}

/**
 * Claims for tickets of one type. If a suspect (a task whose last run was lost; see `suspects.ts`) was claimed, it runs alone:
 * the other claimed tasks are released.
 */
async function claimForGroup(
  system: System,
  type: TaskType,
  claimer: Claimer,
  tickets: readonly Ticket[],
): Promise<Outcomes> {
  const named = tickets.map(({ task }) => task)
  const { claimed, waiting } = await claimByTickets(system, type, claimer, named)
  const { toRun, others: released } = suspectAlone(claimed)
  await Promise.all(released.map(one => endRunOrLog(system, one, { outcome: 'release' })))
  const unused = unusedTickets(tickets, toRun, released.length + waiting)
  const used = tickets.filter(one => !unused.includes(one))
  const why = released.length > 0 ? 'suspect-runs-alone' : 'no-task'
  return new Map<Ticket, Claimed | TicketRefusal>([
    ...unused.map(ticket => [ticket, why] as const),
    ...used.map((ticket, nth) => [ticket, toRun[nth] ?? 'not-needed'] as const),
  ])
}

/**
 * The tickets that found no task and may be passed on. A ticket for a released task, or for one that waits for a limit, is
 * not passed on, since a new ticket is sent for that task.
 *
 * `newTickets`: how many tasks get a new ticket: released ones, and those that wait for a limit.
 */
function unusedTickets(
  tickets: readonly Ticket[],
  toRun: readonly Claimed[],
  newTickets: number,
): readonly Ticket[] {
  const ids = new Set(toRun.map(({ task }) => task.id))
  const left = tickets.length - toRun.length - newTickets
  return tickets
    .filter(({ task, passedOn }) => !ids.has(task.id) && passedOn < TICKET_PASSES_MAX)
    .slice(0, Math.max(0, left))
}
