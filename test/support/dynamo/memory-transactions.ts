import type { Item, RequestOf } from '../../../shared/aws/dynamo/documents.ts'
import type { MemoryTable, Write } from '../../../shared/testing/table/memory-table.ts'
import { RefusedRequest } from '../../../shared/testing/table/values.ts'

/** One entry of a transaction. */
export type TransactItem =
  | { readonly Put: RequestOf<'put'> }
  | { readonly Update: RequestOf<'update'> }
  | { readonly Delete: RequestOf<'delete'> }
  | { readonly ConditionCheck: RequestOf<'delete'> & { readonly ConditionExpression: string } }

/** An entry of a transaction whose condition does not hold, with the stored item if the entry asks for it. */
type FailedEntry = { readonly index: number; readonly item: Item | undefined }

/** Source: "Amazon DynamoDB Transactions" in the developer guide. */
const TRANSACT_ITEMS_MAX = 100

/** Writes all items of a transaction of a user, or none. Returns the entries that prevent it. */
export function transactWrite(table: MemoryTable, items: readonly TransactItem[]): FailedEntry[] {
  const plans = items.map(item => table.plan(writeOf(item)))
  const different = new Set(plans.map(({ key: { pk, sk } }) => JSON.stringify([pk, sk])))
  if (items.length === 0 || items.length > TRANSACT_ITEMS_MAX || different.size < items.length) {
    throw new RefusedRequest(`a transaction writes between 1 and ${TRANSACT_ITEMS_MAX} different items`)
  }
  const judged = plans.map(({ holds, change }, nth) => {
    const isCheck = 'ConditionCheck' in (items[nth] ?? {})
    return holds() && (isCheck ? undefined : change())
  })
  const failed = plans.flatMap(({ refusal }, index) =>
    judged[index] === false ? [{ index, item: refusal() }] : [],
  )
  if (failed.length > 0) return failed
  for (const change of judged) if (change) table.write(change)
  return []
}

function writeOf(item: TransactItem): Write {
  const [write, ...others] = Object.values(item) as Write[]
  if (!write || others.length > 0) throw new RefusedRequest('each entry of a transaction makes one operation')
  return write
}
