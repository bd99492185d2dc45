import { textBytes } from '../core/json.ts'

/** SQS takes 10 messages and 1 MiB a batch. Source: SQS quotas. A margin is left for the envelope. */
const MAX_ENTRIES = 10
const MAX_BATCH_BYTES = 1_000_000

/** Splits messages, in order, into batches that SQS takes. */
export function batchesOf<T extends { readonly body: string }>(messages: readonly T[]): T[][] {
  const batches: T[][] = []
  let bytes = 0
  for (const message of messages) {
    const size = textBytes(message.body)
    const current = batches.at(-1)
    const fits = current !== undefined && current.length < MAX_ENTRIES && bytes + size <= MAX_BATCH_BYTES
    if (fits) current.push(message)
    else batches.push([message])
    bytes = fits ? bytes + size : size
  }
  return batches
}
