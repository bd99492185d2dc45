import type { TaskType } from '../../core/task-type.ts'
import type { TypeStore } from '../../ports/stores.ts'
import { changeType } from '../change-type.ts'
import type { TypeReader } from '../flow/resolve-flow.ts'
import type { System } from '../system.ts'

/** Types that this process knows to be marked. */
const marked = new WeakMap<TypeStore, Set<string>>()

/**
 * Notes with a type that tasks of it have fairness keys, before the first of them is written: whoever claims then looks
 * where they stand, too. Of a flow that is noted with the types of its steps. One write per type, ever.
 */
export async function markFair(
  system: Pick<System, 'types' | 'clock'>,
  typeOf: TypeReader,
  type: TaskType,
): Promise<void> {
  const known = marked.get(system.types) ?? new Set<string>()
  marked.set(system.types, known)
  const steps = (type.configuration.steps ?? []).flatMap(step => [step.do, ...(step.undo ? [step.undo] : [])])
  const working = steps.length > 0 ? await Promise.all(steps.map(action => typeOf(action.type))) : [type]
  for (const one of working) {
    if (!one || known.has(one.type)) continue
    if (!one.isFair) {
      await changeType(system, one.type, stored =>
        stored && !stored.isFair ? { ...stored, isFair: true } : undefined,
      )
    }
    known.add(one.type)
  }
}
