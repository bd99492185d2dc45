/** The objects that runs and heartbeats of all tasks rely on. A handler that replaced a part would harm other tasks. */
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
 * Keeps handlers from changing objects that all tasks of their process share. An assignment such as `JSON.stringify = …`,
 * `Date.now = …` or `Object.prototype.x = …` then throws a TypeError in strict code, as an error of that handler. Call it
 * when all modules are loaded, so that patches which libraries make on loading are kept. Methods of prototypes can still be
 * replaced, because making them read-only would break plain assignments such as `this.toString = …`.
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
