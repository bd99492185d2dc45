const KINDS = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Reports every unhandled exception and rejection until the returned function is called. Meanwhile no other
 * listener of the real process receives them: they belong to the simulated system that is being judged.
 */
export function onUnhandledError(report: (error: unknown) => void): () => void {
  const others = KINDS.map(kind => [kind, process.rawListeners(kind)] as const)
  for (const kind of KINDS) {
    process.removeAllListeners(kind)
    process.on(kind, report)
  }
  return () => {
    for (const [kind, listeners] of others) {
      process.off(kind, report)
      for (const listener of listeners) process.on(kind, listener as () => void)
    }
  }
}
