/**
 * Fairness between tenants: the tasks of one line are claimed by turns, and each task has a turn of its tenant. The core
 * says that a change brings a task into a line; this room says at which turn.
 *
 * The last turn of each tenant stands in one small item for the line and the tenant, with a TTL. A change that brings a
 * task into a line reserves the next turn there first: one write unit. Changes of one tenant that are under way together
 * in a process share that write. A process that dies between the two writes, or whose change loses its race, wastes a
 * turn; the process keeps the wasted turn for the tenant's next task.
 *
 * The front is read from the index, where it is the first turn of each shard. No item is written by all tenants, and none
 * grows with their number.
 */
import type { Change } from '../../core/change/change.ts'
import { atTurn, type LineEntry, lineEntry } from '../../core/change/entering.ts'
import { turnAt } from '../../core/fair/fair.ts'
import type { ChangeHook, System } from '../kernel/system.ts'
import { frontOf } from './front.ts'
import { giveTurnBack, reserveTurn } from './reserve-turns.ts'

/** Each change that brings a task into a line gets its turn. */
export const TURN_HOOK: ChangeHook = { prepare: inTurn, refused: notInTurn }

/** The change, with its task's turn where it brings the task into a line. */
async function inTurn(system: System, change: Change): Promise<Change> {
  const comes = lineEntry(change)
  if (!comes) return change
  const front = await frontOf(system, comes.line)
  return atTurn(change, comes.line, await turnFor(system, comes, front))
}

async function turnFor(system: System, comes: LineEntry, front: number): Promise<number> {
  return comes.held === undefined ? reserveTurn(system, comes, front) : Math.max(comes.held, front)
}

/** The change was not written: its turn is the next one of its tenant. */
function notInTurn(system: System, change: Change): void {
  const comes = lineEntry(change)
  if (!comes || comes.held !== undefined) return
  const turn = turnAt(comes.line, change.after.place?.order ?? '')
  if (turn !== undefined) giveTurnBack(system, comes, turn)
}
