import { type TaskType, withTenants } from '../../core/types/task-type.ts'
import { processMemory } from '../kernel/process-memory.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange } from '../types/apply-type-change.ts'
import { changeType } from '../types/change-type.ts'
import type { TypeReader } from '../types/type-cache.ts'

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
