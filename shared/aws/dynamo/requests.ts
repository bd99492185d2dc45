import { type Item, JOINED_BY_AND, namesOf, type RequestOf, SCHEMA, ttlSeconds } from './documents.ts'

/** Forms of requests that several stores share. In each, `#name` is the attribute `name`, and `:name` its value. */

/** Reads one item. Strongly consistent. */
export function getItem(table: string, Key: Item): RequestOf<'get'> {
  return { TableName: table, Key, ConsistentRead: true }
}

/** Reads the items of a partition, or those whose sort keys begin with `prefix`, or those from the sort key `from` on. */
export function queryPartition(
  table: string,
  pk: string,
  { prefix, from }: { readonly prefix?: string | undefined; readonly from?: string } = {},
) {
  const start = prefix ?? from
  const clause = prefix === undefined ? '#sk >= :sk' : 'begins_with(#sk, :sk)'
  return {
    TableName: table,
    KeyConditionExpression: ['#pk = :pk', ...(start === undefined ? [] : [clause])].join(JOINED_BY_AND),
    ExpressionAttributeNames: namesOf('pk', ...(start === undefined ? [] : ['sk'])),
    ExpressionAttributeValues: { ':pk': pk, ...(start !== undefined && { ':sk': start }) },
  } satisfies RequestOf<'query'>
}

/** The condition that the stored item has these values. */
export function ifStored(seen: Item) {
  return {
    ConditionExpression: Object.keys(seen).map(equation).join(JOINED_BY_AND),
    ...aliasesOf(seen),
  }
}

/** The condition that the stored item has the version that was seen. Version 0 means that none is stored. */
export function ifVersion(version: number) {
  const isNew = { ConditionExpression: 'attribute_not_exists(#pk)', ExpressionAttributeNames: namesOf('pk') }
  const guard = version === 0 ? isNew : ifStored({ version })
  return { ...guard, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const
}

/** Changes an item, or creates it: sets attributes, sets the ones in `first` unless they are stored, and adds numbers or sets to others. */
export function updateItem(
  table: string,
  Key: Item,
  {
    expiresAt,
    set = {},
    first = {},
    add = {},
  }: { readonly expiresAt: number; readonly set?: Item; readonly first?: Item; readonly add?: Item },
) {
  const whole = { ...SCHEMA, ttl: ttlSeconds(expiresAt), ...set }
  const sets = Object.keys(whole).map(equation)
  const firsts = Object.keys(first).map(name => `#${name} = if_not_exists(#${name}, :${name})`)
  const adds = Object.keys(add).map(name => `#${name} :${name}`)
  return {
    TableName: table,
    Key,
    UpdateExpression: `SET ${[...sets, ...firsts].join(', ')}${adds.length > 0 ? ` ADD ${adds.join(', ')}` : ''}`,
    ...aliasesOf({ ...whole, ...first, ...add }),
  } satisfies RequestOf<'update'>
}

function equation(name: string): string {
  return `#${name} = :${name}`
}

function aliasesOf(values: Item) {
  return {
    ExpressionAttributeNames: namesOf(...Object.keys(values)),
    ExpressionAttributeValues: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`:${name}`, value]),
    ),
  }
}
