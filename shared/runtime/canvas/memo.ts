/** Remembers what was read under a name; what is not there, or could not be read, is read again. */
export type Memo<Value> = (name: string, read: () => Promise<Value | undefined>) => Promise<Value | undefined>

/** Forgets what was read longest ago once all that it remembers weighs more than `most`. */
export function createMemo<Value>(most: number, weigh: (value: Value) => number): Memo<Value> {
  const known = new Map<string, { readonly value: Promise<Value | undefined>; weight: number }>()
  let total = 0
  const forget = (name: string) => {
    total -= known.get(name)?.weight ?? 0
    known.delete(name)
  }
  const makeRoom = (kept: string) => {
    for (const old of known.keys()) if (total > most && old !== kept) forget(old)
  }
  const remember = async (name: string, read: () => Promise<Value | undefined>) => {
    const value = read()
    const entry = { value, weight: 0 }
    known.set(name, entry)
    try {
      const present = await value
      // Forgotten while it was read: it weighs nothing here.
      if (known.get(name) !== entry) return
      if (present === undefined) return forget(name)
      entry.weight = weigh(present)
      total += entry.weight
      makeRoom(name)
    } catch {
      if (known.get(name) === entry) forget(name)
    }
  }
  return (name, read) => {
    const present = known.get(name)
    if (present) return present.value
    const done = remember(name, read)
    const value = known.get(name)?.value
    return done.then(() => value)
  }
}
