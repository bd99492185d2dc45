const KINDS = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Tells of every exception and every rejection that nobody has caught, until the answer is called. Whoever else
 * listens for them hears nothing meanwhile: a real process would end, a simulated one is what is being judged.
 */
export function onUnhandledError(tell: (error: unknown) => void): () => void {
  const others = KINDS.map(kind => [kind, process.rawListeners(kind)] as const)
  for (const kind of KINDS) {
    process.removeAllListeners(kind)
    process.on(kind, tell)
  }
  return () => {
    for (const [kind, listeners] of others) {
      process.off(kind, tell)
      for (const listener of listeners) process.on(kind, listener as () => void)
    }
  }
}
