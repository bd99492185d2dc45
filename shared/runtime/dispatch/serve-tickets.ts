import { startsAt } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { finish } from '../../core/run/finish.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Claimed } from '../claim/claim.ts'
import { claimByTickets, TICKET_PASS_DELAY_S, TICKET_PASSES_MAX } from '../claim/claim-by-ticket.ts'
import type { ClaimResult } from '../claim/claim-ready.ts'
import { transact } from '../kernel/kernel.ts'
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

type Outcome = Pick<ClaimResult, 'claimed' | 'held'>

/** Serves tokens of one type together; answers the ids of the messages that must come again. */
export async function serveTickets(
  system: System,
  tokens: readonly ReceivedDispatch[],
  claimer: Claimer,
  tools: DispatchTools,
): Promise<string[]> {
  const [first] = tokens
  if (!first) return []
  let outcome: Outcome = { claimed: [], waiting: tokens.length }
  const unclaimed = await caughtAll(system, tokens, async () => {
    outcome = await claim(system, tokens, claimer, tools)
  })
  if (unclaimed) return unclaimed
  const { run, given } = await runnable(system, outcome.claimed)
  const passed = passable(tokens, run, given.length + outcome.waiting)
  const results = await Promise.all([
    ...run.map(one => ran(system, one, tools)),
    ...passed.map(one => serveOrRedeliver(system, one, () => pass(system, one, given.length > 0))),
  ])
  return results.flat()
}

async function claim(
  system: System,
  tokens: readonly ReceivedDispatch[],
  claimer: Claimer,
  { typeOf }: DispatchTools,
): Promise<Outcome> {
  const named = tokens.map(({ seen }) => seen)
  const type = named[0] && (await typeOf(workOf(named[0]).type))
  await sleepUntil(system.clock, Math.max(...named.map(startsAt)))
  // What is dropped in a pause is sent again at its end.
  if (!type || type.paused) return { claimed: [], waiting: tokens.length }
  return claimByTickets(system, type, claimer, named)
}

/** Undefined when it was done; else the ids of the messages that must come again. */
async function caughtAll(
  system: System,
  tokens: readonly ReceivedDispatch[],
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
    tokens.map(one => serveOrRedeliver(system, one, () => Promise.reject(failure))),
  )
  return ids.flat()
}

/** A task whose last run took its process down runs alone; what was claimed with it is given back unharmed. */
async function runnable(
  system: System,
  claimed: readonly Claimed[],
): Promise<{ readonly run: readonly Claimed[]; readonly given: readonly Claimed[] }> {
  const suspect = claimed.find(({ task }) => isSuspect(task))
  if (!suspect) return { run: claimed, given: [] }
  const given = claimed.filter(one => one !== suspect)
  await Promise.all(given.map(one => release(system, one)))
  return { run: [suspect], given }
}

async function release(system: System, { task, run }: Claimed): Promise<void> {
  const word = { born: task.born, fence: run.fence, outcome: 'release' as const }
  await transact(system, task, current =>
    finish(current, word, system.clock.now(), system.chance.fraction()),
  ).catch(error => {
    system.log.warn('a run was left to its lease', { taskId: task.id, error })
  })
}

/** Tokens that stand for nothing. What was given back, or waits for a limit, will bring tokens of its own. */
function passable(
  tokens: readonly ReceivedDispatch[],
  run: readonly Claimed[],
  settled: number,
): readonly ReceivedDispatch[] {
  const ids = new Set(run.map(({ task }) => task.id))
  const left = tokens.length - run.length - settled
  return tokens
    .filter(({ seen, passedOn = 0 }) => !ids.has(seen.id) && passedOn < TICKET_PASSES_MAX)
    .slice(0, Math.max(0, left))
}

/** A ticket that stands for nothing needs no redelivery: at the end of its chain it is dropped, and the sweeper repairs. */
async function pass(system: System, one: ReceivedDispatch, isAtOnce: boolean): Promise<void> {
  if (isChainOver(system, [one])) return
  await sendBack(system, one, isAtOnce ? 0 : TICKET_PASS_DELAY_S, (one.passedOn ?? 0) + 1)
}

/** A claimed run is guarded by its lease: its message is not needed any more. */
async function ran(system: System, claimed: Claimed, tools: DispatchTools): Promise<string[]> {
  try {
    await runClaimed(system, claimed, await toolsFor(claimed.task, tools))
  } catch (error) {
    system.log.error('a run was left to its lease', { error, taskId: claimed.task.id })
  }
  return []
}
