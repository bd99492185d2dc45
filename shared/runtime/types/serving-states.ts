import type { TaskKind } from '../../core/task/task.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'

/** Of a type that serves tasks: the messages in its queue (undefined: it has none), and since when it has had a handler. */
type TypeState = { readonly backlog: number | undefined; readonly handlerSince: number }
export type StateReader = (type: string, kind: TaskKind) => Promise<TypeState>

/** Each queue is asked once a round, though the steps of many flows wait in it. */
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
