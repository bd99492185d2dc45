/** What runs and heartbeats are written with: a handler that replaces a part of it would spoil those of other tasks. */
const SHARED: readonly object[] = [JSON, Math, Date, Object, Reflect, Array, Number, String]
const GLOBALS = [
  'JSON',
  'Math',
  'Date',
  'Object',
  'Reflect',
  'Array',
  'Number',
  'String',
  'setTimeout',
  'clearTimeout',
]

/**
 * Keeps handlers from changing what all tasks of their process share. From then on an assignment such as `JSON.stringify = …`,
 * `Date.now = …` or `Object.prototype.x = …` throws a TypeError, in strict code, where it stands: it is the error of that
 * handler. To be called when all modules are loaded: what libraries patch as they load stays as it is. Methods of prototypes
 * can still be replaced, since making them read-only would break plain assignments such as `this.toString = …`.
 */
export function lockIntrinsics(): void {
  for (const shared of SHARED) for (const name of Reflect.ownKeys(shared)) lock(shared, name)
  for (const name of GLOBALS) lock(globalThis, name)
  Object.preventExtensions(Object.prototype)
  Object.preventExtensions(Array.prototype)
}

function lock(owner: object, name: PropertyKey): void {
  const { value, configurable } = Object.getOwnPropertyDescriptor(owner, name) ?? {}
  if (typeof value !== 'function' && owner !== globalThis) return
  if (configurable) Object.defineProperty(owner, name, { writable: false, configurable: false })
}
