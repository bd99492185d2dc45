import { isUsable, type Turn, termsOf } from '../../core/control/starts.ts'
import { throttle, unblock } from '../../core/control/wait.ts'
import type { Task } from '../../core/task.ts'
import type { RateLimit } from '../../core/task-type.ts'
import { isSamePiece } from '../../core/work.ts'
import { sleepUntil } from '../sleep-until.ts'
import type { System } from '../system.ts'
import { transact } from '../transact.ts'
import type { Limited } from './limits-of.ts'
import { noteMissed, reserveStart } from './reserve-starts.ts'

/** How a start under a rate limit is got for a task; false when it cannot begin now. */
export type Starting = (system: System, task: Task, limited: Limited<RateLimit>) => Promise<boolean>

/** A turn that comes within this time is waited for; what comes later goes back to its queue until then. */
const MAX_WAIT_MS = 1_000
/** Turns that may be missed in a row before the task is left to another try. */
const MAX_MISSED = 5
/** Dispatches come early by less than this. */
const MAX_EARLY_MS = 2_000

/** For those who were sent one task: it begins now, or waits for a turn of its own. */
export const inTurn: Starting = async (system, task, limited) => {
  const own = reservedTurn(task, limited)
  // Whoever finds it before its turn must not put it off by reserving another one.
  if (own && own.at - system.clock.now() >= MAX_EARLY_MS) return false
  // Waited for here, where nothing is left to be read before the claim: a turn is missed by a few hundredths of its period.
  if (own) await sleepUntil(system.clock, own.at)
  if (hasTurn(task, limited, system.clock.now())) return true
  for (let nth = 0; nth < MAX_MISSED; nth++) {
    const turn = await reserveStart(system, limited, false)
    if (!turn) return false
    if (turn.at - system.clock.now() >= MAX_WAIT_MS)
      return waitForTurn(system, task, { ...turn, limit: limited.name })
    if (await isReached(system, turn, limited)) return true
  }
  return false
}

/** Waits for a turn that is close; false when it was missed. */
async function isReached(system: System, turn: Turn, { limit }: Limited<RateLimit>): Promise<boolean> {
  await sleepUntil(system.clock, turn.at)
  if (isUsable(turn, limit, system.clock.now())) return true
  noteMissed(system)
  return false
}

async function waitForTurn(
  system: System,
  task: Task,
  turn: Turn & { readonly limit: string },
): Promise<false> {
  await transact(system, task, current =>
    current && isSamePiece(task, current)
      ? throttle(current, turn, system.clock.now())
      : { ok: false as const, reason: 'finished' as const },
  )
  return false
}

/** For those who take what may begin now, and ask again. */
export const atOnce: Starting = async (system, _task, limited) => {
  const turn = await reserveStart(system, limited, true)
  return turn !== undefined && isReached(system, turn, limited)
}

/**
 * For those who were sent tokens, each naming a task, and take the best task instead: a turn that a named task has
 * waited for is spent on the better one, and the named task waits anew. Named tasks themselves wait for turns.
 */
export function byTokens(named: readonly Task[]): Starting {
  const left = [...named]
  return async (system, task, limited) => {
    const now = system.clock.now()
    if (hasTurn(task, limited, now)) return true
    for (const other of left.filter(one => one.id !== task.id && hasTurn(one, limited, now))) {
      left.splice(left.indexOf(other), 1)
      if (await spend(system, other)) return true
    }
    const isNamed = named.some(({ id }) => id === task.id)
    if (!isNamed || task.wait?.kind === 'turn') return atOnce(system, task, limited)
    return inTurn(system, task, limited)
  }
}

function hasTurn(task: Task, limited: Limited<RateLimit>, now: number): boolean {
  const own = reservedTurn(task, limited)
  return own !== undefined && isUsable(own, limited.limit, now)
}

/** The turn that the task waits for under the limit as it is now; it may have passed. */
function reservedTurn({ wait }: Task, { name, limit }: Limited<RateLimit>): Turn | undefined {
  const isOfLimit = wait?.kind === 'turn' && wait.limit === name && wait.terms === termsOf(limit)
  return isOfLimit ? wait : undefined
}

/** The turn is used once: whoever ends the wait of the task it was reserved for has it. */
async function spend(system: System, task: Task): Promise<boolean> {
  const ended = unblock(task, system.clock.now())
  return ended.ok && (await system.tasks.apply(ended.change)).applied
}
