import { SCHEMA_VERSION } from '../../core/bounds.ts'
import { BatonError, type Json } from '../../core/values/values.ts'
import type { Chance, Clock } from '../../ports/machine.ts'
import { HEAD_SORT_KEY } from './keys.ts'

/**
 * The requests that the stores of this folder make of the table, in plain values, and the port that answers them. The names come
 * from DynamoDB's API. `sdk-documents.ts` binds the port to the AWS SDK, and `shared/testing/table` to a table in memory.
 *
 * Files below the port have what all items share, the expressions of requests, and reads of many items.
 */
export type Documents = {
  get(request: RequestOf<'get'>): Promise<Item | undefined>
  put(request: RequestOf<'put'>): Promise<Written>
  update(request: RequestOf<'update'>): Promise<Written>
  delete(request: RequestOf<'delete'>): Promise<Written>
  query(request: RequestOf<'query'>): Promise<Page>
  batchGet(request: RequestOf<'batchGet'>): Promise<Batch>
}

/**
 * The outcome of a write: whether its condition held. `item` is what `ReturnValues` asks for, or else the stored item that did not meet
 * the condition.
 */
export type Written = { readonly isWritten: boolean; readonly item: Item | undefined }

export type Page = {
  readonly items: readonly Item[]
  readonly count: number
  /** The position after which the next page begins. */
  readonly next: Item | undefined
}

type Batch = {
  readonly items: readonly Item[]
  /** The keys that the caller must ask for again. */
  readonly left: RequestOf<'batchGet'>['RequestItems'] | undefined
}

type OfTable = { readonly TableName: string }

/** Names and values that the expressions of a request refer to. */
export type Aliases = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>>
}

type Conditioned = Aliases & {
  readonly ConditionExpression?: string
  readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD'
}

type Requests = {
  readonly get: OfTable & { readonly Key: Item; readonly ConsistentRead?: boolean }
  readonly put: OfTable & Conditioned & { readonly Item: Item }
  readonly update: OfTable &
    Conditioned & {
      readonly Key: Item
      readonly UpdateExpression: string
      readonly ReturnValues?: 'NONE' | 'ALL_NEW' | 'UPDATED_NEW'
    }
  readonly delete: OfTable & Conditioned & { readonly Key: Item }
  readonly query: OfTable &
    Aliases & {
      readonly IndexName?: string
      readonly KeyConditionExpression: string
      readonly ConsistentRead?: boolean
      readonly ScanIndexForward?: boolean
      readonly Select?: 'COUNT'
      readonly Limit?: number
      readonly ExclusiveStartKey?: Item
    }
  readonly batchGet: {
    readonly RequestItems: Readonly<
      Record<string, { readonly Keys: readonly Item[]; readonly ConsistentRead?: boolean }>
    >
  }
}

/** A request, by the method of the port that answers it. */
export type RequestOf<Method extends keyof Documents> = Requests[Method]

/** The error of a table that does not answer, or throttles. Callers of the API read the problem. */
export function unavailable(problem: string, cause?: unknown): BatonError {
  return new BatonError('unavailable', `the table does not answer: ${problem}`, { cause })
}

/** The error of a table that refuses the content of an item. */
export function unstorable(cause: Error): BatonError {
  return new BatonError('unstorable', `the table refuses to store the item: ${cause.message}`, { cause })
}

/** An item in plain values, as the document client gives and takes it. */
export type Item = Readonly<Record<string, unknown>>

/** Part of every item: the version of its form. */
export const SCHEMA = { v: SCHEMA_VERSION } as const

/** @throws BatonError `newer-schema` for an item that newer code has written. */
export function assertKnownSchema({ pk, sk, v }: Item): void {
  if (v === undefined || (v as number) <= SCHEMA_VERSION) return
  const name = sk === HEAD_SORT_KEY ? pk : `${pk} ${sk}`
  throw new BatonError(
    'newer-schema',
    `${name} is stored in schema version ${v}, and this code knows versions up to ${SCHEMA_VERSION}: deploy newer code`,
  )
}

/** The value that an item holds as JSON text. @throws BatonError `newer-schema` for an item that newer code has written. */
export function bodyFromItem(item: Item): Json {
  assertKnownSchema(item)
  return JSON.parse(item.json as string) as Json
}

/** The time as a TTL. It is rounded up, so that no item expires early. */
export function ttlSeconds(time: number): number {
  return Math.ceil(time / 1_000)
}

/**
 * A value as DynamoDB's wire and its stream carry it, but for binary values and sets. No item has binary values. Sets are only in
 * the items that count the ended members of a canvas, and no caller reads those items in this form.
 */
export type AttributeValue = {
  readonly S?: string | undefined
  readonly N?: string | undefined
  readonly BOOL?: boolean | undefined
  readonly NULL?: boolean | undefined
  readonly L?: readonly AttributeValue[] | undefined
  readonly M?: Readonly<Record<string, AttributeValue>> | undefined
}

/**
 * The item in plain values. A binary value or a set becomes `null`. Stream records and refused writes need this, because they do not pass
 * through the document client.
 */
export function plainItem(attributes: Readonly<Record<string, AttributeValue>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, plain(value)]))
}

function plain(value: AttributeValue): unknown {
  if (value.S !== undefined) return value.S
  if (value.N !== undefined) return Number(value.N)
  if (value.M !== undefined) return plainItem(value.M)
  if (value.L !== undefined) return value.L.map(plain)
  if (value.BOOL !== undefined) return value.BOOL
  return null
}

/** A path into an item: an attribute, then keys of maps below it. */
export type Path = readonly string[]

/** The paths that an update sets, with their values, and the paths that it removes. */
export type ChangedPaths = {
  readonly set: ReadonlyArray<readonly [Path, unknown]>
  readonly remove: readonly Path[]
}

/** An expression, or a part of one, with the names and values that it uses. */
export type Expression = {
  readonly text: string
  readonly names: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, unknown>>
}

/** Aliases for attributes by their own names, such as `#born` for `born`. */
export function namesOf(...attributes: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(attributes.map(name => [`#${name}`, name]))
}

export const JOINED_BY_AND = ' AND '

/** The update expression that writes the paths. Each name and value is written once, as `#n0…` and `:v0…`. */
export function updateExpression({ set, remove }: ChangedPaths): Expression {
  const aliases = new Map<string, string>()
  const aliasOf = (name: string) => {
    const alias = aliases.get(name) ?? `#n${aliases.size}`
    aliases.set(name, alias)
    return alias
  }
  const textOf = (path: Path) => path.map(aliasOf).join('.')
  const sets = set.map(([path], index) => `${textOf(path)} = :v${index}`)
  const removes = remove.map(textOf)
  const parts = [
    ...(sets.length > 0 ? [`SET ${sets.join(', ')}`] : []),
    ...(removes.length > 0 ? [`REMOVE ${removes.join(', ')}`] : []),
  ]
  return {
    text: parts.join(' '),
    names: Object.fromEntries([...aliases].map(([name, alias]) => [alias, name])),
    values: Object.fromEntries(set.map(([, value], index) => [`:v${index}`, value])),
  }
}

/** The pages of a query: all of them, or the pages of the first `most` items. */
export async function* pagesOf(
  documents: Documents,
  request: RequestOf<'query'>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page> {
  let start: Item | undefined
  for (let left = most; left > 0; ) {
    const page = await documents.query({
      ...request,
      ...(left < Number.POSITIVE_INFINITY && { Limit: left }),
      ...(start && { ExclusiveStartKey: start }),
    })
    yield page
    if (!page.next) return
    start = page.next
    left -= page.count
  }
}

/** The items of a query: all of them, or the first `most`. */
export async function readAll(
  documents: Documents,
  request: RequestOf<'query'>,
  most?: number,
): Promise<Item[]> {
  const found: Item[] = []
  for await (const { items } of pagesOf(documents, request, most)) found.push(...items)
  return found
}

export type BatchReader = {
  readonly documents: Documents
  readonly table: string
  readonly clock: Pick<Clock, 'sleep'>
  readonly chance: Pick<Chance, 'fraction'>
}

/** BatchGetItem takes 100 keys. Source: DynamoDB API reference. */
const BATCH_KEYS_MAX = 100
const BATCHES_AT_ONCE_MAX = 8
const BATCH_ROUNDS_MAX = 8
const FIRST_PAUSE_MS = 25

/** Reads the items that `requestOf` asks for, up to 100 in a request, and returns them in no order. `wanted` has no duplicates. */
export async function readBatches<Wanted>(
  reader: BatchReader,
  wanted: readonly Wanted[],
  requestOf: (table: string, some: readonly Wanted[]) => RequestOf<'batchGet'>,
): Promise<Item[]> {
  const starts = Array.from(
    { length: Math.ceil(wanted.length / BATCH_KEYS_MAX) },
    (_, index) => index * BATCH_KEYS_MAX,
  )
  const found: Item[][] = []
  const left = starts.values()
  const lane = async () => {
    for (const start of left) {
      const some = wanted.slice(start, start + BATCH_KEYS_MAX)
      found.push(await readBatch(reader, requestOf(reader.table, some)))
    }
  }
  await Promise.all(Array.from({ length: Math.min(BATCHES_AT_ONCE_MAX, starts.length) }, lane))
  return found.flat()
}

/** Asks again for the keys that DynamoDB leaves unprocessed, after pauses that double. */
async function readBatch(
  { documents, clock, chance }: BatchReader,
  first: RequestOf<'batchGet'>,
): Promise<Item[]> {
  const found: Item[] = []
  let request = first
  for (let round = 0; round < BATCH_ROUNDS_MAX; round++) {
    const { items, left } = await documents.batchGet(request)
    found.push(...items)
    if (!left) return found
    request = { ...request, RequestItems: left }
    await clock.sleep(FIRST_PAUSE_MS * 2 ** round * (0.5 + chance.fraction() / 2))
  }
  const table = Object.keys(first.RequestItems).join()
  throw unavailable(`${BATCH_ROUNDS_MAX} requests BatchGetItem on ${table} left keys unprocessed`)
}
