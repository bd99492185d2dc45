import type { OperationRecord } from '../core/operations.ts'

/**
 * Records of changes by people, as JSON text `[[by, …], [[at, n, what], …]]`: each principal stands there once, and each record
 * names it by its number. A record takes some 25 bytes, and a principal as many as its name has.
 */
export function operationsValue(operations: readonly OperationRecord[]): string {
  const people = [...new Set(operations.map(({ by }) => by))]
  return JSON.stringify([people, operations.map(({ at, by, what }) => [at, people.indexOf(by), what])])
}

export function operationsFrom(value: string): OperationRecord[] {
  const [people, records] = JSON.parse(value) as [string[], Array<[number, number, string]>]
  return records.map(([at, nth, what]) => ({ at, by: people[nth] ?? '', what }))
}
