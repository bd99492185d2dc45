/** The objects that the runs and heartbeats of all tasks use. A handler that replaced a member of one would harm other tasks. */
const SHARED_OBJECTS: readonly object[] = [JSON, Math, Date, Object, Reflect, Array, Number, String]
const SHARED_GLOBALS = [
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
 * Keeps handlers from changing objects that all tasks of their process share. An assignment such as `JSON.stringify = …`,
 * `Date.now = …` or `Object.prototype.x = …` then throws a TypeError in strict code, as an error of that handler. Call it
 * after all modules are loaded, so that libraries can make their patches while they load. Methods of prototypes can still be
 * replaced, because making them read-only would break plain assignments such as `this.toString = …`.
 */
export function lockIntrinsics(): void {
  for (const shared of SHARED_OBJECTS) for (const name of Reflect.ownKeys(shared)) lock(shared, name)
  for (const name of SHARED_GLOBALS) lock(globalThis, name)
  Object.preventExtensions(Object.prototype)
  Object.preventExtensions(Array.prototype)
}

function lock(owner: object, name: PropertyKey): void {
  const { value, configurable } = Object.getOwnPropertyDescriptor(owner, name) ?? {}
  if (typeof value !== 'function' && owner !== globalThis) return
  if (configurable) Object.defineProperty(owner, name, { writable: false, configurable: false })
}
