import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { BatonError } from '../../core/errors.ts'
import { plainItem } from './attribute-values.ts'
import type { Item } from './stored-form.ts'

/** Part of every request. It makes the answer state the consumed units of the table and of each index. */
export const METERED = { ReturnConsumedCapacity: 'INDEXES' } as const

/** The outcome of a conditional write: its answer, or the item that did not meet the condition. */
export type Conditional<T> = { readonly answer: T } | { readonly refusedBy: Item | undefined }

/**
 * The answer of a request. When the table refuses a read or a deletion, the code or the deployment is wrong, and the SDK's error
 * is thrown unchanged.
 *
 * @throws BatonError `unavailable` when the table does not answer or throttles beyond the SDK's own retries.
 */
export async function answerOf<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    throw isOutage(error) ? unavailable(error) : error
  }
}

/**
 * The answer of a request that writes an item.
 *
 * @throws BatonError as `answerOf`, and `unstorable` when the table refuses the content of the item.
 */
export async function writeAnswer<T>(request: Promise<T>): Promise<T> {
  try {
    return await answerOf(request)
  } catch (error) {
    throw isRefusedContent(error) ? unstorable(error) : error
  }
}

/**
 * The outcome of a conditional write. A refusal is returned, not thrown. Callers that delete pass `answerOf`, because a deletion
 * stores no content.
 */
export async function conditional<T>(
  request: Promise<T>,
  answerTo: (request: Promise<T>) => Promise<T> = writeAnswer,
): Promise<Conditional<T>> {
  try {
    return { answer: await answerTo(request) }
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error
    return { refusedBy: error.Item && plainItem(error.Item) }
  }
}

export function unavailable(cause: unknown): BatonError {
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return new BatonError('unavailable', `the table does not answer: ${reason}`, { cause })
}

function unstorable(cause: Error): BatonError {
  return new BatonError('unstorable', `the table refuses to store the item: ${cause.message}`, { cause })
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
function isOutage(error: unknown): boolean {
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
