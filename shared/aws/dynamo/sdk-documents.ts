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
 * Sends the requests of the stores by the document client of the AWS SDK. Each request throws BatonError `unavailable` when the table
 * does not answer or throttles beyond the SDK's own retries. A request that writes an item throws BatonError `unstorable` when the
 * table refuses its content. When the table refuses a read or a deletion, the code or the deployment is wrong, and the SDK's error is
 * thrown unchanged.
 */
export function sdkDocuments(client: DynamoDBDocumentClient, monotonic = () => performance.now()): Documents {
  const waiting = (operation: string, table: string): Waiting => {
    const begin = monotonic()
    return () => `${operation} on ${table} failed after ${((monotonic() - begin) / 1_000).toFixed(1)} s`
  }
  return {
    get: async request => {
      const answer = client.send(new GetCommand(metered(request)))
      return (await answerOf(answer, waiting('GetItem', request.TableName))).Item
    },
    put: request => {
      const answer = client.send(new PutCommand(metered(request)))
      return written(storing(answer, waiting('PutItem', request.TableName)))
    },
    update: request => {
      const answer = client.send(new UpdateCommand(metered(request)))
      return written(storing(answer, waiting('UpdateItem', request.TableName)))
    },
    delete: request => {
      const answer = client.send(new DeleteCommand(metered(request)))
      return written(answerOf(answer, waiting('DeleteItem', request.TableName)))
    },
    query: async request => {
      const {
        Items = [],
        Count = 0,
        LastEvaluatedKey,
      } = await answerOf(
        client.send(new QueryCommand(metered(request))),
        waiting('Query', [request.TableName, request.IndexName].filter(Boolean).join('/')),
      )
      return { items: Items, count: Count, next: LastEvaluatedKey }
    },
    batchGet: async request => {
      const command = new BatchGetCommand(metered(request) as BatchGetCommandInput)
      const { Responses = {}, UnprocessedKeys = {} } = await answerOf(
        client.send(command),
        waiting('BatchGetItem', Object.keys(request.RequestItems).join()),
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

/** Says what has waited, and for how long until now. */
type Waiting = () => string

/** The cause may name addresses, which callers of the API should not read. So the message has its name only. */
async function answerOf<T>(request: Promise<T>, waiting: Waiting): Promise<T> {
  try {
    return await request
  } catch (error) {
    throw isOutage(error) ? unavailable(`${waiting()} (${error.name})`, error) : error
  }
}

async function storing<T>(request: Promise<T>, waiting: Waiting): Promise<T> {
  try {
    return await answerOf(request, waiting)
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
