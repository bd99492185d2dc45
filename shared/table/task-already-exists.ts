import { HEAD_SORT_KEY } from '../aws/dynamo/keys.ts'
import { splitTaskId } from '../core/task/task.ts'

/** The task for whose sake a transaction was cancelled. */
export type ExistingTask = {
  /** The id of the task, `type:key`. */
  readonly id: string
  /** The position of the task's head in `TransactItems`, from 0. */
  readonly position: number
  /**
   * Whether the task was removed. Its key stays taken for 15 days after that, so that nothing of the removed task can touch a new one.
   */
  readonly isRemoved: boolean
}

/**
 * Tells whether a transaction was cancelled because a task that it publishes exists already, and which one. Undefined for every other
 * error. When several tasks exist, it names the first one.
 *
 * ```ts
 * const existing = taskAlreadyExists(error)
 * if (!existing) throw error
 * ```
 */
export function taskAlreadyExists(error: unknown): ExistingTask | undefined {
  const { name, CancellationReasons: reasons } = Object(error) as Cancellation
  if (name !== 'TransactionCanceledException' || !Array.isArray(reasons)) return undefined
  for (const [position, reason] of reasons.entries()) {
    const found = existingTaskIn(reason)
    if (found) return { ...found, position }
  }
  return undefined
}

type Reason = { readonly Code?: string; readonly Item?: Readonly<Record<string, unknown>> }

type Cancellation = { readonly name?: unknown; readonly CancellationReasons?: readonly Reason[] }

/** The head that refused an entry. Each entry of a head asks DynamoDB for the item that refuses it. */
function existingTaskIn({ Code, Item = {} }: Reason): Omit<ExistingTask, 'position'> | undefined {
  const id = textOf(Item.pk)
  const isHead = textOf(Item.sk) === HEAD_SORT_KEY && textOf(Item.born) !== undefined
  if (Code !== 'ConditionalCheckFailed' || !isHead || id === undefined || !splitTaskId(id)) return undefined
  return { id, isRemoved: textOf(Item.state) === 'removed' }
}

/** A text as errors of the SDK carry it, or as a document client might. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const { S: text } = Object(value) as { readonly S?: unknown }
  return typeof text === 'string' ? text : undefined
}
