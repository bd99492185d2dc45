import { type Change, isOfTask } from '../../core/change/change.ts'
import { turnAt } from '../../core/place/claim-order.ts'
import { type LineEntry, lineEntry, movedToTurn } from '../../core/place/place.ts'
import { type TaskType, withTenants } from '../../core/types/task-type.ts'
import type { ChangeHook, System } from '../kernel/system.ts'
import { processMemory } from '../kernel/timed-cache.ts'
import { applyTypeChange } from '../types/apply-type-change.ts'
import { changeType } from '../types/change-type.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { frontOf } from './front.ts'
import { giveTurnBack, reserveTurn } from './reserve-turns.ts'

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

type Marking = Pick<System, 'types' | 'clock' | 'messages' | 'log'>

/** The types that this process knows to be marked. */
const knownMarked = processMemory(() => new Set<string>())

/**
 * Marks a type as fair before its first task with a fairness key is written. From then on each task of the type takes a
 * turn: of its tenant, or of the one tenant that all tasks without a key share. For a flow, the types of its steps are
 * marked. Each type is written once, ever. Tasks that wait already get their turns in the background.
 */
export async function markFair(system: Marking, typeOf: TypeReader, type: TaskType): Promise<void> {
  const known = knownMarked(system.types)
  const steps = (type.configuration.steps ?? []).flatMap(step => [step.do, ...(step.undo ? [step.undo] : [])])
  const working = steps.length > 0 ? await Promise.all(steps.map(action => typeOf(action.type))) : [type]
  for (const one of working) {
    if (!one || known.has(one.type)) continue
    if (!one.isFair) await mark(system, one)
    known.add(one.type)
  }
}

/**
 * Marks the type and starts the background job. If the job's message cannot be sent, the sweeper sends it, since the type
 * records the change.
 */
async function mark(system: Marking, { type }: TaskType): Promise<void> {
  const changed = await changeType(
    system,
    type,
    stored => (stored && !stored.isFair ? withTenants(stored) : undefined),
    system.types.markFair,
  )
  await applyTypeChange(system, changed).catch(error => {
    system.log.warn('the job that gives waiting tasks their turns was not sent; the sweeper sends it', {
      type,
      error,
    })
  })
}
