import { type TaskType, withTenants } from '../../core/types/task-type.ts'
import type { TypeStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange } from '../types/apply-type-change.ts'
import { changeType } from '../types/change-type.ts'
import type { TypeReader } from '../types/type-cache.ts'

type Marking = Pick<System, 'types' | 'clock' | 'messages' | 'log'>

/** Types that this process knows to be marked. */
const marked = new WeakMap<TypeStore, Set<string>>()

/**
 * Notes with a type that tasks of it have fairness keys, before the first of them is written: from then on each of its tasks
 * takes turns, in the name of a tenant or of all that name none. Of a flow that is noted with the types of its steps. One
 * write per type, ever. Tasks that wait already are given turns in the background.
 */
export async function markFair(system: Marking, typeOf: TypeReader, type: TaskType): Promise<void> {
  const known = marked.get(system.types) ?? new Set<string>()
  marked.set(system.types, known)
  const steps = (type.configuration.steps ?? []).flatMap(step => [step.do, ...(step.undo ? [step.undo] : [])])
  const working = steps.length > 0 ? await Promise.all(steps.map(action => typeOf(action.type))) : [type]
  for (const one of working) {
    if (!one || known.has(one.type)) continue
    if (!one.isFair) await mark(system, one)
    known.add(one.type)
  }
}

/** What cannot be sent stands with the type, and the sweeper sends it. */
async function mark(system: Marking, { type }: TaskType): Promise<void> {
  const changed = await changeType(
    system,
    type,
    stored => (stored && !stored.isFair ? withTenants(stored) : undefined),
    system.types.markFair,
  )
  await applyTypeChange(system, changed).catch(error => {
    system.log.warn('tasks that wait are given turns by the sweeper', { type, error })
  })
}
