import type { TypeReader } from './flow/resolve-flow.ts'
import type { System } from './system.ts'

/** For one batch: each type is read once, however many requests name it. */
export function typesReadOnce({ types }: Pick<System, 'types'>): TypeReader {
  const read = new Map<string, ReturnType<TypeReader>>()
  return type => {
    const known = read.get(type) ?? types.get(type)
    read.set(type, known)
    return known
  }
}
