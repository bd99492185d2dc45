/**
 * A value as DynamoDB's wire and its stream carry it, but for binary values and sets. No item has binary values. Sets stand only in
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

/** The item in plain values. A binary value or a set becomes `null`. Stream records and refused writes need this, because they do not pass through the document client. */
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
