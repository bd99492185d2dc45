import type { ConsumedCapacity, DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** Capacity units, of the table and of each index that took some. */
export type Units = { readonly table: number; readonly [index: string]: number }

/** Records what DynamoDB says that requests consumed. */
export function meterUnits(client: DynamoDBClient): { take(): Units } {
  let consumed: ConsumedCapacity[] = []
  client.middlewareStack.add(next => async args => {
    const result = await next(args)
    const { ConsumedCapacity: one } = result.output as {
      ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[]
    }
    consumed.push(...[one ?? []].flat())
    return result
  })
  return {
    /** What was consumed since the last call. */
    take: () => {
      const taken = consumed
      consumed = []
      return sumOf(taken)
    },
  }
}

function sumOf(consumed: readonly ConsumedCapacity[]): Units {
  const units: Record<string, number> & { table: number } = { table: 0 }
  for (const { Table, GlobalSecondaryIndexes } of consumed) {
    units.table += Table?.CapacityUnits ?? 0
    for (const [index, { CapacityUnits = 0 }] of Object.entries(GlobalSecondaryIndexes ?? {})) {
      if (CapacityUnits > 0) units[index] = (units[index] ?? 0) + CapacityUnits
    }
  }
  return units
}

export function totalOf(units: Units): number {
  return Object.values(units).reduce((total, each) => total + each, 0)
}
