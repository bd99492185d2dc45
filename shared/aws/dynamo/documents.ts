import { BatonError } from '../../core/errors.ts'
import type { Item } from './stored-form.ts'

/**
 * The requests that the stores of this folder make of the table, in plain values, and the port that answers them. The names are those
 * of DynamoDB's API. `sdk-documents.ts` binds the port to the AWS SDK, and `shared/testing/table` to a table in memory.
 */
export type Documents = {
  get(request: GetRequest): Promise<Item | undefined>
  put(request: PutRequest): Promise<Written>
  update(request: UpdateRequest): Promise<Written>
  delete(request: DeleteRequest): Promise<Written>
  query(request: QueryRequest): Promise<Page>
  batchGet(request: BatchGetRequest): Promise<Batch>
}

/** Part of every request. It makes the answer state the consumed units of the table and of each index. */
export const METERED = { ReturnConsumedCapacity: 'INDEXES' } as const

/**
 * The outcome of a write: whether its condition held. `item` is what `ReturnValues` asks for, or else the stored item that did not meet
 * the condition.
 */
export type Written = { readonly isWritten: boolean; readonly item: Item | undefined }

export type Page = {
  readonly items: readonly Item[]
  readonly count: number
  /** The position after which the next page begins. */
  readonly next: Item | undefined
}

type Batch = {
  readonly items: readonly Item[]
  /** The keys that are to be asked for again. */
  readonly left: BatchGetRequest['RequestItems'] | undefined
}

type Metered = { readonly ReturnConsumedCapacity?: 'INDEXES' }
type OfTable = Metered & { readonly TableName: string }

/** Names and values that the expressions of a request refer to. */
export type Aliases = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>>
}

type Conditioned = Aliases & {
  readonly ConditionExpression?: string
  readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD'
}

export type GetRequest = OfTable & { readonly Key: Item; readonly ConsistentRead?: boolean }

export type PutRequest = OfTable & Conditioned & { readonly Item: Item }

export type DeleteRequest = OfTable & Conditioned & { readonly Key: Item }

export type UpdateRequest = OfTable &
  Conditioned & {
    readonly Key: Item
    readonly UpdateExpression: string
    readonly ReturnValues?: 'NONE' | 'ALL_NEW' | 'UPDATED_NEW'
  }

export type QueryRequest = OfTable &
  Aliases & {
    readonly IndexName?: string
    readonly KeyConditionExpression: string
    readonly ConsistentRead?: boolean
    readonly ScanIndexForward?: boolean
    readonly Select?: 'COUNT'
    readonly Limit?: number
    readonly ExclusiveStartKey?: Item
  }

export type BatchGetRequest = Metered & {
  readonly RequestItems: Readonly<
    Record<string, { readonly Keys: readonly Item[]; readonly ConsistentRead?: boolean }>
  >
}

/** The error of a table that does not answer, or throttles. */
export function unavailable(cause: unknown): BatonError {
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return new BatonError('unavailable', `the table does not answer: ${reason}`, { cause })
}

/** The error of a table that refuses the content of an item. */
export function unstorable(cause: Error): BatonError {
  return new BatonError('unstorable', `the table refuses to store the item: ${cause.message}`, { cause })
}
