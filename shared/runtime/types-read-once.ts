import type { TypeReader } from './flow/resolve-flow.ts'
import type { System } from './system.ts'
import { freshType } from './type-cache.ts'

/** For one batch: each type is read once, however many requests name it. */
export function typesReadOnce(system: Pick<System, 'types' | 'clock'>): TypeReader {
  const read = new Map<string, ReturnType<TypeReader>>()
  return type => {
    const known = read.get(type) ?? freshType(system, type)
    read.set(type, known)
    return known
  }
}
