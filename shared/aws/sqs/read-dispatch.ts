import { isTask } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import { BatonError } from '../../core/values/values.ts'
import type { Log } from '../../ports/machine.ts'
import type { TaskCodec } from '../../ports/messages.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { type DecodedDispatch, decodeDispatch } from './wire.ts'

/** Reads dispatches. The public types reach this file, so it imports none of the SDK's. */

type ReadDispatch = { readonly task: Task } & Pick<DecodedDispatch, 'passedOn' | 'hops' | 'freed'>

/**
 * Reads the body of a dispatch. Undefined when it can never be read.
 *
 * @throws BatonError when it cannot be read now: the store does not answer, or newer code has written the task.
 */
export type DispatchReader = (body: string) => Promise<ReadDispatch | undefined>

/**
 * Creates a reader of dispatches. Queues keep a message for up to four days, and code is deployed meanwhile. When a dispatch has
 * the form of another version, the reader does not guess at it, but reads the head from the table by the id. In any case a claim
 * succeeds only on the present revision.
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
    const head = carried ?? (await tasks.head(id))
    const task = head && isTask(head) ? head : undefined
    if (!task) log.info('dropped a dispatch of a task that does not exist', { taskId: id })
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

/** The task that the message carries; undefined when this code does not know its form. */
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
    log.info('read a task from the table because its dispatch has the form of another version', {
      taskId: id,
      error,
    })
    return undefined
  }
}
