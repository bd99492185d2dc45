/** What a statement of PartiQL does, read as far as permissions need it. */

const PARTIQL_TOKEN = /"[^"]*"|'[^']*'|[\w-]+|\S/g

const PARTIQL_KINDS: Readonly<Record<string, string>> = {
  SELECT: 'Select',
  INSERT: 'Insert',
  UPDATE: 'Update',
  DELETE: 'Delete',
}

/** What a statement does, and the table and the index that it names; undefined for a statement that could be read in two ways. */
export function readStatement(text: string) {
  const tokens = text.match(PARTIQL_TOKEN) ?? []
  const words = tokens.map(token => token.toUpperCase())
  const kind = PARTIQL_KINDS[words[0] ?? '']
  const isUnclear = tokens.some(
    (token, at) => hasComment(token) || token + tokens[at + 1] === '/*' || token === '`',
  )
  const hasOneTable = words.filter(word => word === 'FROM').length <= 1
  if (kind === undefined || isUnclear || !hasOneTable) return undefined
  const at = kind === 'Update' ? 0 : words.indexOf(kind === 'Insert' ? 'INTO' : 'FROM')
  const [name, dot, index] = tokens.slice(at + 1).map(token => token.replaceAll('"', ''))
  return at < 0 ? undefined : { kind, name, ...(dot === '.' && { index }) }
}

function hasComment(token: string): boolean {
  return !/^["']/.test(token) && token.includes('--')
}
