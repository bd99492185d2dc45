type WireValue = { S: string } | { N: string } | { BOOL: boolean } | { M: Record<string, WireValue> }

/** An item in the form of DynamoDB's wire. */
export function wireItem(members: object): Record<string, WireValue> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, wireValue(value)]))
}

function wireValue(value: unknown): WireValue {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  return { M: wireItem(value as object) }
}
