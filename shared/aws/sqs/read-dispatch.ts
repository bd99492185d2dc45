import { BatonError } from '../../core/errors.ts'
import type { Task } from '../../core/task/task.ts'
import type { Log } from '../../ports/machine.ts'
import type { TaskCodec } from '../../ports/messages.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { type DecodedDispatch, decodeDispatch } from './wire.ts'

/** A dispatch with its task; undefined: nothing can be made of it, now or later. */
type ReadDispatch = { readonly task: Task } & Pick<DecodedDispatch, 'passedOn' | 'hops'>

/** @throws BatonError when it cannot be read now: the store does not answer, or newer code has written the task. */
export type DispatchReader = (body: string) => Promise<ReadDispatch | undefined>

/**
 * Reads dispatches. Queues keep a message for up to four days, in which code is deployed: what another version has written is
 * never guessed at. Where its form cannot be read, the head is read from the table by its id. A claim holds only on the
 * present revision in any case.
 */
export function createDispatchReader(from: {
  readonly codec: TaskCodec
  readonly tasks: Pick<TaskStore, 'head'>
  readonly log: Log
}): DispatchReader {
  const { log, tasks } = from
  return async body => {
    const dispatch = decoded(log, body)
    if (!dispatch) return undefined
    const { id, form: _form, ...chain } = dispatch
    const carried = await taskCarried(from, dispatch)
    const task = carried ?? (await tasks.head(id))
    if (!task) log.info('dropped a dispatch of a task that is gone', { taskId: id })
    return task && { task, ...chain }
  }
}

function decoded(log: Log, body: string): DecodedDispatch | undefined {
  try {
    return decodeDispatch(body)
  } catch (error) {
    log.error('dropped a dispatch that cannot be read', { error })
    return undefined
  }
}

/** The task as the message carries it; undefined when this code cannot tell what it says. */
async function taskCarried(
  { codec, log }: { readonly codec: TaskCodec; readonly log: Log },
  { id, form }: DecodedDispatch,
): Promise<Task | undefined> {
  if (form === undefined) return undefined
  try {
    const task = await codec.decode(form)
    return task.id === id ? task : undefined
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unavailable') throw error
    log.info('read a task anew whose dispatch is of another version', { taskId: id, error })
    return undefined
  }
}
