import { type Change, isOfTask } from '../../../shared/core/change.ts'
import type { Operation } from '../../../shared/core/task/head-fields.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Applied } from '../../../shared/ports/stores.ts'
import type { Table } from '../world/aws/table.ts'
import type { PlantedFault } from './planted-fault.ts'

type Apply = (change: Change) => Promise<Applied>

/** Faults in the writes of transitions. */
export const WRITE_FAULTS: readonly PlantedFault[] = [
  inWrites(
    'a finish skips the fence check',
    (apply, table) => change =>
      isOneOf(change, ['succeed', 'fail', 'release']) ? writeAnyway(apply, table, change) : apply(change),
  ),
  inWrites(
    'a claim is written without a condition',
    (apply, table) => change =>
      isOneOf(change, ['claim']) ? writeAnyway(apply, table, change) : apply(change),
  ),
  inWrites('a heartbeat renews a lost lease', (apply, table) => async change => {
    const applied = await apply(change)
    return !applied.applied && isOneOf(change, ['beat']) ? writeAnyway(apply, table, change) : applied
  }),
  inWrites(
    'a write does not increase the revision',
    apply => change =>
      change.before && change.after.operation !== 'beat'
        ? apply({ ...change, after: { ...change.after, revision: change.before.revision } })
        : apply(change),
  ),
  inWrites('a failed condition counts as success', apply => async change => {
    const applied = await apply(change)
    return applied.applied ? applied : { applied: true, head: change.after }
  }),
  inWrites('a write is answered before it is made', apply => async change => {
    void apply(change).catch(() => undefined)
    return { applied: true, head: change.after }
  }),
  inWrites(
    'a run is recorded as lost without a check of its present lease',
    apply => change =>
      change.guard.kind === 'revision'
        ? apply({ ...change, guard: { ...change.guard, leases: [] } })
        : apply(change),
  ),
  inWrites(
    'a lost run costs no retry',
    apply => change => apply(isOfTask(change) ? withoutLostRetries(change) : change),
  ),
  inWrites(
    'a restart keeps the birth',
    apply => change =>
      change.before && change.after.operation === 'restart'
        ? apply({ ...change, after: { ...change.after, born: change.before.born } })
        : apply(change),
  ),
  inWrites(
    'a cancel is acknowledged, but not written',
    apply => change =>
      isOneOf(change, ['cancel']) ? Promise.resolve({ applied: true, head: change.after }) : apply(change),
  ),
  inWrites(
    'a removal is acknowledged, but not written',
    apply => change =>
      isOneOf(change, ['remove']) ? Promise.resolve({ applied: true, head: change.after }) : apply(change),
  ),
  inWrites('a publish replaces what is there', (apply, table) => async change => {
    const applied = await apply(change)
    const wasTaken = !applied.applied && isOneOf(change, ['publish'])
    return wasTaken ? writeAnyway(apply, table, change) : applied
  }),
  inWrites('bodies are not stored', apply => change => apply({ ...change, bodies: [] })),
  inWrites(
    'a claim keeps the fence',
    apply => change =>
      change.before && isOneOf(change, ['claim'])
        ? apply({ ...change, after: { ...change.after, fence: change.before.fence } })
        : apply(change),
  ),
]

function inWrites(name: string, spoilt: (apply: Apply, table: Table) => Apply): PlantedFault {
  return {
    name,
    spoil: (system, table) => ({
      ...system,
      tasks: { ...system.tasks, apply: spoilt(system.tasks.apply, table) },
    }),
  }
}

function isOneOf({ after }: Change, operations: readonly Operation[]): boolean {
  return operations.includes(after.operation)
}

/** Writes over the stored head, as a write without a condition would. */
function writeAnyway(apply: Apply, table: Table, change: Change): Promise<Applied> {
  const head = table.head(change.after.id)
  if (!head) return apply(change)
  const { born, revision } = head
  return apply({ ...change, guard: { kind: 'revision', born, revision, leases: [] } })
}

function withoutLostRetries(change: Change<Task>): Change {
  return { ...change, after: { ...change.after, failures: change.after.failures - lostNow(change) } }
}

function lostNow({ before, after }: Change<Task>): number {
  const wasLive = (run: Task['ended'][string]) => before?.live[run.fence] !== undefined
  return Object.values(after.ended).filter(run => run.state === 'lost' && wasLive(run)).length
}
