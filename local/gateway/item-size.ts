type AttributeValue = Record<string, unknown>

/**
 * Size of an item in bytes as DynamoDB bills it: attribute names plus values. A number takes about one byte per two digits, plus
 * one. A list or map takes 3 bytes, plus one per entry.
 */
export function itemSize(item: Record<string, AttributeValue>): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value),
    0,
  )
}

function valueSize(value: AttributeValue): number {
  const entry = Object.entries(value)[0]
  if (!entry) return 0
  const [type, content] = entry
  return sizes[type]?.(content) ?? 1
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, next) => total + next, 0)
const textSize = (text: unknown) => Buffer.byteLength(String(text))
const binarySize = (base64: unknown) => Buffer.byteLength(String(base64), 'base64')
const numberSize = (text: unknown) => Math.ceil(String(text).replace(/[-.]/g, '').length / 2) + 1
const setOf = (size: (entry: unknown) => number) => (entries: unknown) =>
  sum((entries as unknown[]).map(size))

const sizes: Record<string, (content: unknown) => number> = {
  S: textSize,
  N: numberSize,
  B: binarySize,
  BOOL: () => 1,
  NULL: () => 1,
  SS: setOf(textSize),
  NS: setOf(numberSize),
  BS: setOf(binarySize),
  L: entries => 3 + sum((entries as AttributeValue[]).map(entry => valueSize(entry) + 1)),
  M: entries => {
    const map = entries as Record<string, AttributeValue>
    return 3 + itemSize(map) + Object.keys(map).length
  },
}

/** The write units that a failed condition on this item costs: one per started KB of the item, at least one. */
export const failedWriteUnits = (item: Record<string, AttributeValue> | undefined) =>
  item ? Math.max(1, Math.ceil(itemSize(item) / 1024)) : 1
