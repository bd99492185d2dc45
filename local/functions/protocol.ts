/** The message that the cloud sends to a function's process over IPC: one invocation at a time. */
export type InvocationRequest = {
  readonly requestId: string
  readonly event: unknown
  /** The time until the invocation's timeout. It is a duration, because the clocks of two processes may differ. */
  readonly timeoutMs: number
  readonly functionArn: string
  readonly traceId: string
}

export type InvocationError = {
  readonly errorType: string
  readonly errorMessage: string
  readonly trace?: readonly string[]
  /** Set when the function's code could not be loaded, so that the invocation has not begun. */
  readonly isLoadFailure?: true
}

/** The messages that a function's process sends back. */
export type SandboxMessage =
  /** `stopsOnSignal`: the function answers SIGTERM and ends its work early. Baton's executors do. */
  | { readonly kind: 'ready'; readonly stopsOnSignal: boolean }
  | { readonly kind: 'init-failed'; readonly error: InvocationError }
  | { readonly kind: 'result'; readonly requestId: string; readonly payload: unknown }
  | { readonly kind: 'error'; readonly requestId: string; readonly error: InvocationError }

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
