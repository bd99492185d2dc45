/**
 * Creates a memory of this process beside a store or a queue, such as a cache, a wait list or a measured latency.
 * The memory is kept by the identity of its owner, so that two systems in one process, as in tests, share nothing.
 * It lives as long as its owner.
 */
export function processMemory<Value>(create: () => Value): (owner: object) => Value {
  const byOwner = new WeakMap<object, Value>()
  return owner => {
    const known = byOwner.get(owner) ?? create()
    byOwner.set(owner, known)
    return known
  }
}
