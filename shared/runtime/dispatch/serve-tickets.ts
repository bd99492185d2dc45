import { startsAt } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Claimed } from '../claim/claim.ts'
import { claimByTickets, TICKET_PASS_DELAY_S, TICKET_PASSES_MAX } from '../claim/claim-by-ticket.ts'
import type { ClaimResult } from '../claim/claim-ready.ts'
import { endRunOrLog } from '../claim/release-run.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { runClaimed } from '../run/run.ts'
import {
  type DispatchTools,
  isChainOver,
  isSuspect,
  type ReceivedDispatch,
  sendBack,
  serveOrRedeliver,
  toolsFor,
} from './received-dispatch.ts'

type Outcome = Pick<ClaimResult, 'claimed' | 'waiting'>

/** Serves tickets of one type with one claim. Returns the ids of the messages that the queue must deliver again. */
export async function serveTickets(
  system: System,
  tickets: readonly ReceivedDispatch[],
  claimer: Claimer,
  tools: DispatchTools,
): Promise<string[]> {
  const [first] = tickets
  if (!first) return []
  let outcome: Outcome = { claimed: [], waiting: tickets.length }
  const failed = await claimOrRedeliver(system, tickets, async () => {
    outcome = await claim(system, tickets, claimer, tools)
  })
  if (failed) return failed
  const { toRun, released } = await withSuspectAlone(system, outcome.claimed)
  const toPass = unusedTickets(tickets, toRun, released.length + outcome.waiting)
  const results = await Promise.all([
    ...toRun.map(one => run(system, one, tools)),
    ...toPass.map(one => serveOrRedeliver(system, one, () => pass(system, one, released.length > 0))),
  ])
  return results.flat()
}

async function claim(
  system: System,
  tickets: readonly ReceivedDispatch[],
  claimer: Claimer,
  { typeOf }: DispatchTools,
): Promise<Outcome> {
  const named = tickets.map(({ seen }) => seen)
  const type = named[0] && (await typeOf(workOf(named[0]).type))
  await sleepUntil(system.clock, Math.max(...named.map(startsAt)))
  // During a pause tickets are dropped. When it ends, one is sent for each ready task.
  if (!type || type.paused) return { claimed: [], waiting: tickets.length }
  return claimByTickets(system, type, claimer, named)
}

/** Claims for the tickets. Returns undefined on success, else the ids of the messages that the queue must deliver again. */
async function claimOrRedeliver(
  system: System,
  tickets: readonly ReceivedDispatch[],
  serve: () => Promise<void>,
): Promise<string[] | undefined> {
  let failure: unknown
  try {
    await serve()
    return undefined
  } catch (error) {
    failure = error
  }
  const ids = await Promise.all(
    tickets.map(one => serveOrRedeliver(system, one, () => Promise.reject(failure))),
  )
  return ids.flat()
}

/** Lets a suspect run alone: the other claimed tasks are released without a penalty. */
async function withSuspectAlone(
  system: System,
  claimed: readonly Claimed[],
): Promise<{ readonly toRun: readonly Claimed[]; readonly released: readonly Claimed[] }> {
  const suspect = claimed.find(({ task }) => isSuspect(task))
  if (!suspect) return { toRun: claimed, released: [] }
  const released = claimed.filter(one => one !== suspect)
  await Promise.all(released.map(one => endRunOrLog(system, one, { outcome: 'release' })))
  return { toRun: [suspect], released }
}

/**
 * The tickets that found no task and may be passed on. A ticket for a released task, or for one that waits for a limit, is
 * not passed on, since a new ticket is sent for that task.
 */
function unusedTickets(
  tickets: readonly ReceivedDispatch[],
  toRun: readonly Claimed[],
  withNewTickets: number,
): readonly ReceivedDispatch[] {
  const ids = new Set(toRun.map(({ task }) => task.id))
  const left = tickets.length - toRun.length - withNewTickets
  return tickets
    .filter(({ seen, passedOn = 0 }) => !ids.has(seen.id) && passedOn < TICKET_PASSES_MAX)
    .slice(0, Math.max(0, left))
}

/** Passes a ticket on. At the end of its chain of messages it is dropped instead; the sweeper repairs what that leaves. */
async function pass(system: System, one: ReceivedDispatch, isAtOnce: boolean): Promise<void> {
  if (isChainOver(system, [one])) return
  await sendBack(system, one, isAtOnce ? 0 : TICKET_PASS_DELAY_S, (one.passedOn ?? 0) + 1)
}

/** Runs a claimed task. Its message is not needed any more, whatever happens, since the lease guards the run. */
async function run(system: System, claimed: Claimed, tools: DispatchTools): Promise<string[]> {
  try {
    await runClaimed(system, claimed, await toolsFor(claimed.task, tools))
  } catch (error) {
    system.log.error('the end of a run was not written; its lease runs out', {
      error,
      taskId: claimed.task.id,
    })
  }
  return []
}
