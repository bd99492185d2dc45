import type { Item, Page, RequestOf } from '../../aws/dynamo/documents.ts'
import { firstFrom, type KeyNames, order, type SortedItems } from './contents.ts'
import { scopeOf } from './requests.ts'
import { bytesOfItem, compared, kindOf, RefusedRequest, UnknownPart } from './values.ts'

/** Source: "Querying tables" in the developer guide of DynamoDB. */
const PAGE_BYTES_MAX = 1_024 * 1_024

const KEY_CONDITION =
  /^(#\w+) = (:\w+)(?: AND (?:(#\w+) (=|<=?|>=?) (:\w+)|(#\w+) (BETWEEN) (:\w+) AND (:\w+)|(begins_with)\((#\w+), (:\w+)\)))?$/

/** Reads a `KeyConditionExpression`: the partition, and at most one comparison of the sort key. */
function readKeyCondition(text: string) {
  const match = KEY_CONDITION.exec(text)
  if (!match) throw new UnknownPart(`the KeyConditionExpression '${text}'`)
  const [, partition = '', value = '', ...rest] = match
  const [one, sign, right, two, between, from, to, prefixed, three, prefix] = rest
  return {
    partition: { name: partition, value },
    sort: {
      name: one ?? two ?? three,
      by: sign ?? between ?? prefixed ?? '',
      values: [right ?? from ?? prefix, to],
    },
    aliases: new Set(match.slice(1).filter(token => /^[#:]/.test(token ?? ''))),
    wanted: [],
    meaning: undefined,
  }
}

type Sort = string | number
/** The sort keys that a query asks for: those not below it, and not above it. */
type Range = { readonly isBelow: (sort: Sort) => boolean; readonly isAbove: (sort: Sort) => boolean }

const ALL: Range = { isBelow: () => false, isAbove: () => false }

function rangeOf(by: string, low: Sort, high: Sort = low): Range {
  const isLess = (sort: Sort) => compared(sort, low) < 0
  const isMore = (sort: Sort) => compared(sort, high) > 0
  switch (by) {
    case '<':
      return { ...ALL, isAbove: sort => compared(sort, low) >= 0 }
    case '<=':
      return { ...ALL, isAbove: isMore }
    case '>':
      return { ...ALL, isBelow: sort => compared(sort, low) <= 0 }
    case '>=':
      return { ...ALL, isBelow: isLess }
    case 'begins_with':
      return { isBelow: isLess, isAbove: sort => !String(sort).startsWith(String(low)) && !isLess(sort) }
    default:
      if (compared(low, high) > 0) throw new RefusedRequest('The BETWEEN operator requires ordered bounds')
      return { isBelow: isLess, isAbove: isMore }
  }
}

type Keys = KeyNames & { readonly sortType: string }

export function pageOf(items: SortedItems, keys: Keys, request: RequestOf<'query'>): Page {
  const { partition, range } = readQuery(request, keys)
  const {
    ScanIndexForward: isForward = true,
    Limit: limit = Number.POSITIVE_INFINITY,
    ExclusiveStartKey: start,
  } = request
  if (limit < 1) throw new RefusedRequest('Limit must be at least 1')
  if (start) assertStart(start, { keys, partition, range })
  const all = items.in(partition)
  const sortOf = (item: Item) => item[keys.sort] as Sort
  const low = firstFrom(all, item => !range.isBelow(sortOf(item)))
  const high = firstFrom(all, item => range.isAbove(sortOf(item)))
  const from = start && isForward ? firstFrom(all, item => order(item, start, keys) > 0) : low
  const to = start && !isForward ? firstFrom(all, item => order(item, start, keys) >= 0) : high
  const length = lengthOfPage(
    Math.max(0, to - from),
    limit,
    nth => all[isForward ? from + nth : to - 1 - nth],
  )
  const found = isForward ? all.slice(from, from + length) : all.slice(to - length, to).reverse()
  const last = found.at(-1)
  const isCut = last !== undefined && (length >= limit || length < to - from)
  return { items: found, count: length, next: isCut ? positionOf(last, keys) : undefined }
}

function lengthOfPage(most: number, limit: number, itemAt: (nth: number) => Item | undefined): number {
  const wanted = Math.min(most, limit)
  let bytes = 0
  for (let nth = 0; nth < wanted; nth++) {
    const item = itemAt(nth)
    bytes += item ? bytesOfItem(item) : 0
    if (bytes > PAGE_BYTES_MAX) return nth + 1
  }
  return wanted
}

function readQuery(request: RequestOf<'query'>, keys: Keys) {
  const { partition: wanted, sort, ...read } = readKeyCondition(request.KeyConditionExpression)
  const { names, values } = scopeOf(request, read)
  const partition = values[wanted.value]
  const [low, high] = sort.values.map(alias => (alias === undefined ? undefined : (values[alias] as Sort)))
  const isOfKey = names[wanted.name] === keys.partition && (!sort.name || names[sort.name] === keys.sort)
  const isTyped = [low, high].every(value => value === undefined || kindOf(value) === keys.sortType)
  if (!isOfKey || !isTyped || typeof partition !== 'string') {
    throw new RefusedRequest('Query condition missed key schema element')
  }
  return { partition, range: low === undefined ? ALL : rangeOf(sort.by, low, high) }
}

/** The key of an item in the table, and in the index. */
export function positionOf(item: Item, { partition, sort }: KeyNames): Item {
  return { pk: item.pk, sk: item.sk, [partition]: item[partition], [sort]: item[sort] }
}

type Within = { readonly keys: KeyNames; readonly partition: string; readonly range: Range }

function assertStart(start: Item, { keys, partition, range }: Within): void {
  const wanted = Object.keys(positionOf(start, keys))
  const isWhole =
    wanted.every(name => start[name] !== undefined) && Object.keys(start).length === wanted.length
  const sort = start[keys.sort] as Sort
  if (!isWhole || start[keys.partition] !== partition || range.isBelow(sort) || range.isAbove(sort)) {
    throw new RefusedRequest(
      'The provided starting key is outside query boundaries based on provided conditions',
    )
  }
}
