/**
 * Fairness between tenants: the tasks of one line are claimed in the order of their turns, and each task takes the next
 * turn of its tenant. A line holds the tasks of one type; where the type is ordered by priority, those of one priority.
 * The core says that a change brings a task into a line. This room says which turn the task gets.
 *
 * The last turn of each tenant is stored in one small item per line and tenant, with a TTL. A change that brings a task
 * into a line first reserves the tenant's next turn there, at one write unit. Concurrent changes of one tenant in a
 * process share that write. A turn is wasted when the process dies between the two writes. When the change loses its
 * race, the process keeps the turn for the tenant's next task.
 *
 * The front of a line is the smallest waiting turn. It is read from the index, as the first turn of each shard. While limits
 * hold back the tasks at that turn, a claim notes how far claims have come, and the noted turn is the front. No item is written
 * by all tenants, and no item grows with their number.
 *
 * `reserve-turns.ts` reserves turns, `front.ts` reads and notes the front, and `mark-fair.ts` marks types with tenants.
 */
import { type Change, isOfTask } from '../../core/change/change.ts'
import { turnAt } from '../../core/fair/fair.ts'
import { type LineEntry, lineEntry, movedToTurn } from '../../core/place/line-entry.ts'
import type { ChangeHook, System } from '../kernel/system.ts'
import { frontOf } from './front.ts'
import { giveTurnBack, reserveTurn } from './reserve-turns.ts'

/** Gives each task that a change brings into a line its turn. */
export const TURN_HOOK: ChangeHook = { prepare: withTurn, refused: keepTurn }

/** The change, with the task's turn if it brings the task into a line. */
async function withTurn(system: System, change: Change): Promise<Change> {
  const entry = isOfTask(change) && lineEntry(change.before, change.after)
  if (!entry) return change
  const front = await frontOf(system, entry.line)
  return { ...change, after: movedToTurn(change.after, entry.line, await turnFor(system, entry, front)) }
}

async function turnFor(system: System, entry: LineEntry, front: number): Promise<number> {
  return entry.keptTurn === undefined ? reserveTurn(system, entry, front) : Math.max(entry.keptTurn, front)
}

/** Keeps a turn for the tenant's next task, because the change that reserved it was not written. */
function keepTurn(system: System, change: Change): void {
  if (!isOfTask(change)) return
  const entry = lineEntry(change.before, change.after)
  if (!entry || entry.keptTurn !== undefined) return
  const turn = turnAt(entry.line, change.after.place?.order ?? '')
  if (turn !== undefined) giveTurnBack(system, entry, turn)
}
