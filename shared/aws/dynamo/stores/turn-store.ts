import type { JoinedFrom, TenantTurns, TurnStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema } from '../documents.ts'
import { FRONT_SORT_KEY, frontPartition, TURNS_SORT_KEY, turnsPartition } from '../keys.ts'
import { updateItem } from '../requests.ts'

/** Stores the turns of tenants in a DynamoDB table with the keys of `keys.ts`. */
export function createTurnStore(documents: Documents, { table }: { readonly table: string }): TurnStore {
  return {
    of: async name => turnsFromItem(await documents.get(getTurns(table, name))),
    advance: async (name, count, expiresAt) => {
      const request = advanceTurns(table, name, count, expiresAt)
      return turnsFromItem((await documents.update(request)).item) ?? { last: count, joined: 0 }
    },
    join: async (name, from, expiresAt) => {
      const { isWritten, item } = await documents.update(joinTurns(table, name, from, expiresAt))
      return isWritten ? undefined : turnsFromItem(item)
    },
    front: async line => frontFromItem(await documents.get(getFront(table, line))),
    noteFront: async (line, turn, expiresAt) => {
      await documents.update(noteFront(table, line, turn, expiresAt))
    },
  }
}

const NOTHING_THERE = 'attribute_not_exists(#last)'
const LAST_IS_BEFORE_FRONT = '#last < :joined'
const JOINED_BEYOND = '#joined > :far'
const NONE_NOTED = 'attribute_not_exists(#turn)'
const NOTED_BEFORE = '#turn < :turn'
const JOINED_BY_OR = ' OR '

function turnsKey(name: string) {
  return { pk: turnsPartition(name), sk: TURNS_SORT_KEY }
}

function frontKey(line: string) {
  return { pk: frontPartition(line), sk: FRONT_SORT_KEY }
}

/** Reads the turns of a tenant. Eventually consistent. */
export function getTurns(table: string, name: string): RequestOf<'get'> {
  return { TableName: table, Key: turnsKey(name) }
}

/** Reserves turns after the last one. No guard: a repeated request only wastes turns. */
export function advanceTurns(
  table: string,
  name: string,
  count: number,
  expiresAt: number,
): RequestOf<'update'> {
  const update = updateItem(table, turnsKey(name), { expiresAt, add: { last: count } })
  return { ...update, ReturnValues: 'ALL_NEW' }
}

/** Reserves turns from the front on. Guard: no turn at the front or after it is reserved, or the tenant joined beyond `far`. */
export function joinTurns(
  table: string,
  name: string,
  { front, count, far }: JoinedFrom,
  expiresAt: number,
): RequestOf<'update'> {
  const set = { last: front + count - 1, joined: front }
  const update = updateItem(table, turnsKey(name), { expiresAt, set })
  return {
    ...update,
    ConditionExpression: [NOTHING_THERE, LAST_IS_BEFORE_FRONT, JOINED_BEYOND].join(JOINED_BY_OR),
    ExpressionAttributeValues: { ...update.ExpressionAttributeValues, ':far': far },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

export function turnsFromItem(item: Item | undefined): TenantTurns | undefined {
  if (!item) return undefined
  assertKnownSchema(item)
  return { last: item.last as number, joined: (item.joined as number | undefined) ?? 0 }
}

/** Reads the front of a line. Eventually consistent. */
export function getFront(table: string, line: string): RequestOf<'get'> {
  return { TableName: table, Key: frontKey(line) }
}

/** Notes the front of a line. Guard: the noted turn, if any, is earlier. */
export function noteFront(table: string, line: string, turn: number, expiresAt: number): RequestOf<'update'> {
  return {
    ...updateItem(table, frontKey(line), { expiresAt, set: { turn } }),
    ConditionExpression: [NONE_NOTED, NOTED_BEFORE].join(JOINED_BY_OR),
  }
}

export function frontFromItem(item: Item | undefined): number | undefined {
  if (!item) return undefined
  assertKnownSchema(item)
  return item.turn as number
}
