/**
 * The largest payloads of Lambda, in bytes as its API counts them.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */

/** "Request must be smaller than 6291456 bytes for the InvokeFunction operation" */
export const EVENT_BYTES_MAX = 6_291_456
export const LATER_EVENT_BYTES_MAX = 1024 * 1024
/** "Response payload size exceeded maximum allowed payload size (6291556 bytes)." */
export const ANSWER_BYTES_MAX = 6_291_556

/** Bytes of a payload as JSON. A text in it, such as an HTTP body, counts with its escapes. */
export function payloadBytes(payload: unknown): number {
  return Buffer.byteLength(JSON.stringify(payload) ?? '')
}
