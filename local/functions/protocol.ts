/** What the cloud sends to a function's process over IPC: one invocation at a time. */
export type InvocationRequest = {
  readonly requestId: string
  readonly event: unknown
  /** After how many ms the invocation is cut: no time of day, which may differ between the two. */
  readonly timeoutMs: number
  readonly functionArn: string
  readonly traceId: string
}

export type InvocationError = {
  readonly errorType: string
  readonly errorMessage: string
  readonly trace?: readonly string[]
}

/** What a function's process sends back. */
export type SandboxMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'init-failed'; readonly error: InvocationError }
  | { readonly kind: 'result'; readonly requestId: string; readonly payload: unknown }
  | { readonly kind: 'error'; readonly requestId: string; readonly error: InvocationError }
