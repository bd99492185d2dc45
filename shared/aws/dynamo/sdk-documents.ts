import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import type { BatchGetCommandInput, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import {
  BatchGetCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { BatonError } from '../../core/values/values.ts'
import { type Documents, plainItem, unavailable, unstorable, type Written } from './documents.ts'

/**
 * Sends the requests of the stores by the document client of the AWS SDK. Each request throws BatonError `unavailable` when the table does
 * not answer or throttles beyond the SDK's own retries. A request that writes an item throws BatonError `unstorable` when the table refuses
 * its content. When the table refuses a read or a deletion, the code or the deployment is wrong, and the SDK's error is thrown unchanged.
 */
export function sdkDocuments(client: DynamoDBDocumentClient): Documents {
  return {
    get: async request =>
      (await answerOf('GetItem', request, client.send(new GetCommand(metered(request))))).Item,
    put: request => written(storing('PutItem', request, client.send(new PutCommand(metered(request))))),
    update: request =>
      written(storing('UpdateItem', request, client.send(new UpdateCommand(metered(request))))),
    delete: request =>
      written(answerOf('DeleteItem', request, client.send(new DeleteCommand(metered(request))))),
    query: async request => {
      const {
        Items = [],
        Count = 0,
        LastEvaluatedKey,
      } = await answerOf('Query', request, client.send(new QueryCommand(metered(request))))
      return { items: Items, count: Count, next: LastEvaluatedKey }
    },
    batchGet: async request => {
      const command = new BatchGetCommand(metered(request) as BatchGetCommandInput)
      const TableName = Object.keys(request.RequestItems).join()
      const { Responses = {}, UnprocessedKeys = {} } = await answerOf(
        'BatchGetItem',
        { TableName },
        client.send(command),
      )
      const isLeft = Object.values(UnprocessedKeys).some(({ Keys = [] }) => Keys.length > 0)
      const left = isLeft ? (UnprocessedKeys as typeof request.RequestItems) : undefined
      return { items: Object.values(Responses).flat(), left }
    },
  }
}

/** Makes the answer state the consumed units of the table and of each index. */
function metered<Request>(request: Request) {
  return { ReturnConsumedCapacity: 'INDEXES', ...request } as const
}

type OfTable = { readonly TableName: string; readonly IndexName?: string }

/** The cause may name addresses, which callers of the API should not read. So the message has its name only. */
async function answerOf<T>(
  operation: string,
  { TableName, IndexName }: OfTable,
  answer: Promise<T>,
): Promise<T> {
  const begin = performance.now()
  try {
    return await answer
  } catch (error) {
    if (!isOutage(error)) throw error
    const place = IndexName === undefined ? TableName : `${TableName}/${IndexName}`
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1)
    throw unavailable(`${operation} on ${place} failed after ${seconds} s (${error.name})`, error)
  }
}

async function storing<T>(operation: string, request: OfTable, answer: Promise<T>): Promise<T> {
  try {
    return await answerOf(operation, request, answer)
  } catch (error) {
    throw isRefusedContent(error) ? unstorable(error) : error
  }
}

/** The outcome of a write. A refusal by its condition is returned, not thrown. */
async function written(request: Promise<{ readonly Attributes?: Written['item'] }>): Promise<Written> {
  try {
    return { isWritten: true, item: (await request).Attributes }
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error
    return { isWritten: false, item: error.Item && plainItem(error.Item) }
  }
}

/** Errors for a key or a number that DynamoDB cannot store, and for an item above 400 KB. Source: DynamoDB API reference. */
const REFUSED_CONTENT = [
  'ValidationException',
  'SerializationException',
  'ItemCollectionSizeLimitExceededException',
  'RequestEntityTooLargeException',
]

/** Whether the content is refused. The SDK throws a plain `Error` for content that it cannot turn into attributes. */
function isRefusedContent(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof BatonError) return false
  return REFUSED_CONTENT.includes(error.name) || (error.constructor === Error && !('$metadata' in error))
}

/** Errors that pass with time. A write of an item conflicts with a transaction of a user that is under way on the same item. */
const PASSING = [
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'ReplicatedWriteConflictException',
  'TransactionConflictException',
]

/** An outage passes with time. A bad request or a missing right is a bug or a misconfiguration, not an outage. */
function isOutage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number; attempts?: number } }
  if (PASSING.includes(error.name)) return true
  const status = metadata?.httpStatusCode
  return status === undefined ? isNetworkError(error) : status >= 500
}

const NETWORK_CODES =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/

function isNetworkError(error: Error): boolean {
  const { code } = error as { code?: unknown }
  return error.name === 'TimeoutError' || error.name === 'AbortError' || NETWORK_CODES.test(String(code))
}
