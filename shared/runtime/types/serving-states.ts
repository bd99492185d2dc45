import type { TypeKind } from '../../core/states.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'

/**
 * The state of the type whose handler runs the tasks: the number of messages in its queue (undefined without a
 * queue), and the time since which it has a handler.
 */
type TypeState = { readonly backlog: number | undefined; readonly handlerSince: number }
export type StateReader = (type: string, kind: TypeKind) => Promise<TypeState>

/** Creates a reader that measures each queue once per round, although the steps of many flows wait in it. */
export function servingStateReader(
  { messages }: Pick<System, 'messages'>,
  types: readonly TaskType[],
): StateReader {
  const read = new Map<string, Promise<TypeState>>()
  return (type, kind) => {
    const serving = servingType(type, kind)
    const known = read.get(serving)
    if (known) return known
    const hasQueue = kind === 'handler' || kind === 'webhook'
    const handlerSince = types.find(one => one.type === serving)?.handlerSince ?? 0
    const state = (async () => ({
      backlog: hasQueue ? await messages.backlog(serving) : undefined,
      handlerSince,
    }))()
    read.set(serving, state)
    return state
  }
}
