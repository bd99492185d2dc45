import type { ConsumedCapacity, DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** Capacity units of the table, and of each index that consumed some. */
export type Units = { readonly table: number; readonly [index: string]: number }

/** Capacity units of reads and of writes, table and indexes together. */
export type UnitsByKind = { readonly reads: number; readonly writes: number }

type Metered = {
  readonly consumed: readonly ConsumedCapacity[]
  readonly isWrite: boolean
  /** The least that the service bills. DynamoDB Local reports nothing for a read that finds nothing. */
  readonly least: number
}

/** Records the units that DynamoDB reports for each request of a client. */
export function meterUnits(client: DynamoDBClient): { take(): Units; takeByKind(): UnitsByKind } {
  let metered: Metered[] = []
  client.middlewareStack.add((next, { commandName = '' }) => async args => {
    const result = await next(args)
    const { ConsumedCapacity: one } = result.output as {
      ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[]
    }
    const isWrite = /Put|Update|Delete|Write/.test(commandName)
    metered.push({ consumed: [one ?? []].flat(), isWrite, least: isWrite ? 0 : leastOf(args.input) })
    return result
  })
  const takeAll = () => {
    const taken = metered
    metered = []
    return taken
  }
  return {
    /** Returns the units that were consumed since the last call. */
    take: () => sumOf(takeAll().flatMap(({ consumed }) => consumed)),
    /** Returns what the service would bill for the requests since the last call, with reads apart from writes. */
    takeByKind: () => {
      const all = takeAll()
      const billed = (ofWrites: boolean) =>
        all
          .filter(({ isWrite }) => isWrite === ofWrites)
          .reduce((sum, { consumed, least }) => sum + Math.max(least, totalOf(sumOf(consumed))), 0)
      return { reads: billed(false), writes: billed(true) }
    },
  }
}

/** The least units of a read: one if it is strongly consistent, else half. Source: DynamoDB, read consistency and capacity units. */
function leastOf(input: unknown): number {
  return (input as { ConsistentRead?: boolean }).ConsistentRead ? 1 : 0.5
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
