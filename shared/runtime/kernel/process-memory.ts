/**
 * What one process remembers beside a store or a queue: a cache, a wait list, a measured latency. It is kept by the
 * identity of its owner, so that two systems in one process, as in tests, share nothing. It lives as long as its owner.
 */
export function processMemory<Value>(create: () => Value): (owner: object) => Value {
  const byOwner = new WeakMap<object, Value>()
  return owner => {
    const known = byOwner.get(owner) ?? create()
    byOwner.set(owner, known)
    return known
  }
}
