import type { Change } from '../../../core/change.ts'
import type { Task } from '../../../core/task/task.ts'
import { bodyItem } from './body-requests.ts'
import type { HeadReader } from './head-reader.ts'
import { putHead } from './head-requests.ts'

/**
 * The entries by which a transaction of a user creates a task: the head first, then each body that is an item of its own. Guard: the
 * change's own, which is that no head has this id. A refusal returns the head that has it.
 *
 * The steps of a flow are stored here, before the transaction: many tasks share their item, and transactions that write one item
 * refuse each other.
 */
export async function transactEntries(
  {
    heads,
    table,
    writeId,
  }: { readonly heads: Pick<HeadReader, 'keep'>; readonly table: string; readonly writeId: string },
  change: Change<Task>,
): Promise<TransactEntry[]> {
  const { after, bodies } = change
  if (after.flow) await heads.keep(after.flow.definition)
  const own = bodies.map(body => ({ TableName: table, Item: bodyItem(after.id, body) }))
  return [putHead(table, change, writeId) as TransactEntry['Put'], ...own].map(Put => ({ Put }))
}

/**
 * One entry of `TransactItems`, as the `TransactWriteCommand` of `@aws-sdk/lib-dynamodb` takes it. This file names no type of the SDK,
 * so that users need none of our version.
 */
export type TransactEntry = {
  readonly Put: {
    readonly TableName: string
    /** `pk` is the id of the task. */
    readonly Item: Readonly<Record<string, unknown>> & { readonly pk: string; readonly sk: string }
    readonly ConditionExpression?: string
    readonly ExpressionAttributeNames?: Record<string, string>
    readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD'
  }
}
