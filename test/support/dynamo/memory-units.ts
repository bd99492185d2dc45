import type { Item } from '../../../shared/aws/dynamo/documents.ts'
import { INDEXES } from '../../../shared/aws/dynamo/keys.ts'
import { positionOf } from '../../../shared/testing/table/queries.ts'
import { bytesOfItem, isEqual } from '../../../shared/testing/table/values.ts'

/** Capacity units of the table, and of each index that consumed some. Source: "Read and write capacity" in the developer guide. */
export type Units = Readonly<Record<string, number>>

const WRITE_UNIT_BYTES = 1_024
const READ_UNIT_BYTES = 4_096

type Change = { readonly before: Item | undefined; readonly after: Item | undefined }

/** A write takes the units of the larger item, and of each entry that it removes from an index or puts there. */
export function unitsOfWrite({ before, after }: Change): Units {
  const entries = Object.values(INDEXES).flatMap(index => {
    const [from, to] = [before, after].map(item =>
      item?.[index.partition] === undefined || item[index.sort] === undefined
        ? undefined
        : positionOf(item, index),
    )
    if (isEqual(from, to)) return []
    const units = [from, to].reduce((sum, entry) => sum + (entry ? writeUnits(bytesOfItem(entry)) : 0), 0)
    return [[index.name, units] as const]
  })
  const bytes = Math.max(before ? bytesOfItem(before) : 0, after ? bytesOfItem(after) : 0)
  return { table: writeUnits(bytes), ...Object.fromEntries(entries) }
}

function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES))
}

/** A read takes the units of all that it finds. An eventually consistent one takes half of them. */
export function unitsOfRead(
  items: ReadonlyArray<Item | undefined>,
  isConsistent: boolean,
  where = 'table',
): Units {
  const bytes = items.reduce((sum, item) => sum + (item ? bytesOfItem(item) : 0), 0)
  return { [where]: Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (isConsistent ? 1 : 0.5) }
}
