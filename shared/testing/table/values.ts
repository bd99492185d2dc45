import type { AttributeValue, Item } from '../../aws/dynamo/documents.ts'

/** Plain values as the table stores them: what kind they are, how they compare, and how many bytes they take. */

/** Source: the quotas in the developer guide of DynamoDB, and for numbers the SDK, which refuses what loses digits. */
const NESTING_MAX = 32
const NUMBER_LEAST = 1e-130
const ITEM_BYTES_MAX = 400 * 1_024

export function isMap(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Set)
}

export function kindOf(value: unknown): string {
  if (value === null) return 'NULL'
  if (Array.isArray(value)) return 'L'
  if (value instanceof Set) return typeof [...value][0] === 'number' ? 'NS' : 'SS'
  const kind = { string: 'S', number: 'N', boolean: 'BOOL', object: 'M' }[typeof value as string]
  const prototype = kind === 'M' ? Object.getPrototypeOf(value) : null
  // The name is compared, because the test runner may give each file its own `Object`.
  const isPlain = prototype === null || prototype.constructor.name === 'Object'
  if (kind === undefined || !isPlain) throw new UnknownPart(`a value of the kind ${typeof value}`)
  return kind
}

export function isEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (kindOf(left) !== kindOf(right)) return false
  if (left instanceof Set && right instanceof Set) {
    return left.size === right.size && [...left].every(one => right.has(one))
  }
  const [names, others] = [Object.keys(left), Object.keys(right)]
  const isSame = (name: string) =>
    Object.hasOwn(right, name) && isEqual((left as Item)[name], (right as Item)[name])
  return names.length === others.length && names.every(isSame)
}

/** The order of two keys: of numbers by value, of texts by their bytes in UTF-8. Negative when `left` comes first. */
export function compared(left: string | number, right: string | number): number {
  if (left === right) return 0
  if (typeof left === 'number' || typeof right === 'number') return left < right ? -1 : 1
  let at = 0
  while (left.charCodeAt(at) === right.charCodeAt(at)) at += 1
  return rank(left.charCodeAt(at)) - rank(right.charCodeAt(at)) || left.length - right.length
}

/** Orders UTF-16 as UTF-8: surrogates come last. The end of a text comes first. */
function rank(unit: number): number {
  if (Number.isNaN(unit)) return -1
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10_000 : unit
}

const measured = new WeakMap<Item, number>()

/** The bytes of an item, as DynamoDB counts them for its quota and for units. */
export function bytesOfItem(item: Item): number {
  const known = measured.get(item)
  if (known !== undefined) return known
  const bytes = bytesOfMembers(item, 0)
  measured.set(item, bytes)
  return bytes
}

/** @throws RefusedRequest for an item beyond 400 KB, or with a value that cannot be stored */
export function assertStorable(item: Item): void {
  const bytes = bytesOfItem(item)
  if (bytes > ITEM_BYTES_MAX) {
    throw new RefusedRequest(`Item size has exceeded the maximum allowed size: ${bytes} bytes`)
  }
}

function bytesOfMembers(map: Item, depth: number): number {
  let bytes = 0
  for (const name in map) {
    assertName(name)
    bytes += bytesOfText(name) + bytesOf(map[name], depth + 1) + (depth > 0 ? 1 : 0)
  }
  return bytes
}

/** DynamoDB Local fails on a name with half a surrogate pair. It accepts such values and keys. */
export function assertName(name: string): void {
  if (!name.isWellFormed()) throw new RefusedRequest('a name is not Unicode text')
}

export function bytesOfText(text: string): number {
  return Buffer.byteLength(text)
}

/**
 * The bytes of a value. A list or a map takes 3 bytes, and 1 for each of its members. A number takes 1 byte, and 1 for two of its digits.
 * Source: "DynamoDB item sizes and formats" in the developer guide.
 *
 * @throws RefusedRequest for a value that the SDK or DynamoDB refuses
 */
export function bytesOf(value: unknown, depth: number): number {
  if (typeof value === 'string') return bytesOfText(value)
  if (typeof value === 'number') return bytesOfNumber(value)
  if (typeof value === 'boolean' || value === null) return 1
  if (value === undefined) throw new RefusedRequest('a value is undefined')
  if (depth > NESTING_MAX) throw new RefusedRequest('Nesting Levels have exceeded supported limits')
  if (kindOf(value) === 'M') return 3 + bytesOfMembers(value as Item, depth)
  const isSet = value instanceof Set
  const members = [...(value as Iterable<unknown>)]
  if (isSet && members.length === 0) throw new RefusedRequest('a set is empty')
  if (isSet && new Set(members.map(member => typeof member)).size > 1) {
    throw new RefusedRequest('a set has members of different kinds')
  }
  return members.reduce<number>((sum, one) => sum + bytesOf(one, depth + 1) + (isSet ? 0 : 1), isSet ? 0 : 3)
}

function bytesOfNumber(value: number): number {
  const size = Math.abs(value)
  const isStorable = size <= Number.MAX_SAFE_INTEGER && (size === 0 || size >= NUMBER_LEAST)
  if (!isStorable) throw new RefusedRequest(`the number ${value} cannot be stored`)
  const digits = String(size)
    .replace(/^0\.0*|\.|e.*$/g, '')
    .replace(/0+$/, '').length
  return Math.ceil(digits / 2) + 1 + (value < 0 ? 1 : 0)
}

/** An item as the table's stream carries it. The stream is not asked for items with sets, so their sets are left out. */
export function imageOf(item: Item): Readonly<Record<string, AttributeValue>> {
  const members = Object.entries(item).filter(([, value]) => !(value instanceof Set))
  return Object.fromEntries(members.map(([name, value]) => [name, attributeOf(value)]))
}

function attributeOf(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  if (value === null) return { NULL: true }
  if (Array.isArray(value)) return { L: value.map(attributeOf) }
  if (isMap(value)) return { M: imageOf(value) }
  throw new UnknownPart(`a value of the kind ${typeof value}`)
}

/** DynamoDB refuses the request, whatever its code: it would answer with a `ValidationException`. */
export class RefusedRequest extends Error {
  override readonly name = 'ValidationException'
}

/** The table in memory does not know a part of the request. DynamoDB may know it. */
export class UnknownPart extends Error {
  override readonly name = 'UnknownPart'
  constructor(part: string) {
    super(`the table in memory does not know ${part}`)
  }
}
