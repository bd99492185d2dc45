import type { System } from '../kernel/system.ts'

/** The names of all registered types, sorted. The refusal of an unknown type shows them, so that its caller finds the right one. */
export async function registeredNames({ types }: Pick<System, 'types'>): Promise<string[]> {
  return (await types.list()).map(({ type }) => type).sort()
}
