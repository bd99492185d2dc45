import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { BatonError } from '../../core/errors.ts'
import { plainItem } from './attribute-values.ts'
import type { Item } from './stored-form.ts'

/** Asked in every request, so that whoever meters calls sees their units by index. */
export const METERED = { ReturnConsumedCapacity: 'INDEXES' } as const

/** What a conditional write came to: its answer, or the item that stood in its way. */
export type Conditional<T> = { readonly answer: T } | { readonly refusedBy: Item | undefined }

/**
 * The answer of a request. A read or a deletion that the table refuses is a mistake of this code or of a deployment, and
 * passes as it is.
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
 * @throws BatonError as `answerOf`, and `unstorable` when the table refuses the item for what stands in it.
 */
export async function writeAnswer<T>(request: Promise<T>): Promise<T> {
  try {
    return await answerOf(request)
  } catch (error) {
    throw isRefusedForItself(error) ? unstorable(error) : error
  }
}

/** As `writeAnswer`, with a condition that did not hold as a value; deletions are sent by `answerOf`. */
export async function conditional<T>(
  request: Promise<T>,
  send: (request: Promise<T>) => Promise<T> = writeAnswer,
): Promise<Conditional<T>> {
  try {
    return { answer: await send(request) }
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
  return new BatonError('unstorable', `the table refuses what it is sent: ${cause.message}`, { cause })
}

/** A key or a number that DynamoDB does not know, an item above 400 KB. Source: DynamoDB API reference, common errors. */
const REFUSED = [
  'ValidationException',
  'SerializationException',
  'ItemCollectionSizeLimitExceededException',
  'RequestEntityTooLargeException',
]

/** What the SDK cannot turn into attributes, it refuses by a plain error before anything is sent. */
function isRefusedForItself(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof BatonError) return false
  return REFUSED.includes(error.name) || (error.constructor === Error && !('$metadata' in error))
}

const THROTTLED = [
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'ReplicatedWriteConflictException',
]

/** Refusals that are answers (bad requests, missing rights) are bugs or misconfiguration and pass as they are. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number; attempts?: number } }
  if (THROTTLED.includes(error.name)) return true
  const status = metadata?.httpStatusCode
  return status === undefined ? isNetworkError(error) : status >= 500
}

const NETWORK_CODES =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/

function isNetworkError(error: Error): boolean {
  const { code } = error as { code?: unknown }
  return error.name === 'TimeoutError' || error.name === 'AbortError' || NETWORK_CODES.test(String(code))
}
