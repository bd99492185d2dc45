/**
 * An object that stands for another one, which exists only while tests run. So a file may name it before: `const system =
 * aLocalSystem()`. Members that are assigned to the stand-in itself come first.
 */
export function standIn<Present extends object>(what: string, present: () => Present | undefined): Present {
  return new Proxy({} as Present, {
    get: (own, name: string & keyof Present) => {
      if (Object.hasOwn(own, name)) return own[name]
      const object = present()
      if (!object) throw new Error(`${what} does not exist yet`)
      const member = object[name]
      return typeof member === 'function' ? member.bind(object) : member
    },
  })
}
