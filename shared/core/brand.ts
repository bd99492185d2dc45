// biome-ignore lint/suspicious/noExplicitAny: a class of any constructor
type Class = abstract new (...given: any[]) => object

/**
 * Makes `instanceof` recognise a class across copies of this library. A deployed handler throws the `Fatal` of the project's own
 * installation, and the prebuilt executor, which contains a copy of its own, asks whether it is one. Call it in a static block of
 * the class. A subclass recognises its own instances only.
 */
export function recogniseAcrossCopies(own: Class, name: string): void {
  const brand = Symbol.for(`baton-tasks.${name}`)
  Object.defineProperty(own.prototype, brand, { value: true })
  Object.defineProperty(own, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this === own) return typeof value === 'object' && value !== null && brand in value
      return Function.prototype[Symbol.hasInstance].call(this, value)
    },
  })
}
