/** A copy as JSON text would keep it, apart from what the caller holds. */
export function asStored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
