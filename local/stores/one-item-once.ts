import { type Backend, bodyOf, errorAnswer } from '../gateway/call.ts'

/** The names of a table's key attributes; undefined for a table that no stack has. */
export type KeyNames = (table: string) => readonly string[] | undefined

/**
 * Refuses a transaction with two operations on one item, as DynamoDB does. DynamoDB Local carries out such operations one after the
 * other.
 */
export function refusingRepeatedItems(answer: Backend, keyNames: KeyNames): Backend {
  return async call => {
    const isRefused = call.operation === 'TransactWriteItems' && writesTwice(call.body, keyNames)
    return isRefused ? errorAnswer(400, 'ValidationException', TWICE) : answer(call)
  }
}

const TWICE = 'Transaction request cannot include multiple operations on one item'

type Item = Readonly<Record<string, unknown>>
type Operation = { readonly TableName?: string; readonly Item?: Item; readonly Key?: Item }
type Entry = Readonly<Record<string, Operation>>

function writesTwice(body: Buffer, keyNames: KeyNames): boolean {
  const { TransactItems = [] } = bodyOf({ body }) as { TransactItems?: readonly Entry[] }
  const items = TransactItems.flatMap(entry => Object.values(entry)).flatMap(
    ({ TableName = '', Item, Key }) => {
      const key = keyNames(TableName)?.map(name => (Item ?? Key)?.[name])
      return key === undefined ? [] : [JSON.stringify([TableName, key])]
    },
  )
  return new Set(items).size < items.length
}
