import type { Item } from '../../aws/dynamo/documents.ts'
import { PRIMARY_KEY } from '../../aws/dynamo/keys.ts'
import type { Operand, Scope, Tokens } from './expressions.ts'
import { cached, readOperand, readPath, readValue, valueAt } from './expressions.ts'
import { isMap, kindOf, RefusedRequest } from './values.ts'

/** What an update does at one path: the value there after it, from the value before it. Undefined removes the path. */
type Action = {
  readonly path: readonly string[]
  readonly valueAfter: (before: unknown, scope: Scope) => unknown
}

/** Reads an `UpdateExpression`: `SET` with sums and `if_not_exists`, `REMOVE`, and `ADD` of numbers and sets. */
export const updateOf = cached('UpdateExpression', tokens => {
  const actions: Action[] = []
  const seen = new Set<string>()
  while (tokens.next() !== '') {
    const { [tokens.next()]: readAction } = CLAUSES
    if (!readAction) throw tokens.unknown()
    if (seen.has(tokens.next()))
      throw new RefusedRequest(`Invalid UpdateExpression: it has two clauses ${tokens.next()}`)
    seen.add(tokens.take())
    do actions.push(readAction(tokens))
    while (tokens.skip(','))
  }
  return actions
})

const CLAUSES: Readonly<Record<string, (tokens: Tokens) => Action>> = {
  SET: tokens => {
    const path = readPath(tokens)
    tokens.expect('=')
    const value = readSum(tokens)
    return { path, valueAfter: (_before, scope) => value(scope) }
  },
  REMOVE: tokens => ({ path: readPath(tokens), valueAfter: () => undefined }),
  ADD: tokens => {
    const path = readPath(tokens)
    const added = readValue(tokens, 'N', 'NS', 'SS')
    return { path, valueAfter: (before, scope) => withAdded(before, added(scope)) }
  },
}

function readSum(tokens: Tokens): Operand {
  const first = tokens.next()
  const left = readSummand(tokens)
  const sign = tokens.skip('+') ? 1 : tokens.skip('-') ? -1 : undefined
  if (sign === undefined) return scope => present(left(scope))
  if (first.startsWith(':')) tokens.wanted.push({ alias: first, kinds: ['N'] })
  const right = readSummand(tokens, 'N')
  return scope => sumOf(present(left(scope)), present(right(scope)), sign)
}

function readSummand(tokens: Tokens, ...kinds: readonly string[]): Operand {
  if (!tokens.skip('if_not_exists')) return readOperand(tokens, ...kinds)
  tokens.expect('(')
  const path = readPath(tokens)
  tokens.expect(',')
  const otherwise = readSummand(tokens)
  tokens.expect(')')
  return scope => {
    const value = valueAt(scope, path)
    return value === undefined ? otherwise(scope) : value
  }
}

function present(value: unknown): unknown {
  if (value !== undefined) return value
  throw new RefusedRequest('The provided expression refers to an attribute that does not exist in the item')
}

const WRONG_KIND = 'An operand in the update expression has an incorrect data type'

/** DynamoDB adds decimal numbers exactly. Here the sum is exact for whole numbers and for decimal ones of few digits. */
function sumOf(left: unknown, right: unknown, sign = 1): number {
  if (typeof left !== 'number' || typeof right !== 'number') throw new RefusedRequest(WRONG_KIND)
  const sum = left + sign * right
  return Number.isInteger(sum) ? sum : Number(sum.toPrecision(15))
}

function withAdded(before: unknown, added: unknown): unknown {
  if (!(added instanceof Set)) return sumOf(before === undefined ? 0 : before, added)
  if (before === undefined) return added
  if (kindOf(before) !== kindOf(added)) throw new RefusedRequest(WRONG_KIND)
  return new Set([...(before as Set<unknown>), ...added])
}

/** The paths of an update as names. @throws RefusedRequest when two of them overlap, or one is a part of the key */
export function pathsOf(actions: readonly Action[], names: Scope['names']): ReadonlyArray<readonly string[]> {
  const paths = actions.map(({ path }) => path.map(alias => names[alias] ?? ''))
  const whole = new Set<string>()
  const above = new Set<string>()
  for (const path of paths) {
    const [name = ''] = path
    if (name === PRIMARY_KEY.partition || name === PRIMARY_KEY.sort) {
      throw new RefusedRequest(`Cannot update attribute ${name}. This attribute is part of the key`)
    }
    const parts = path.map((_, index) => path.slice(0, index + 1).join('\0'))
    const own = parts.pop() ?? ''
    if (whole.has(own) || above.has(own) || parts.some(part => whole.has(part))) {
      throw new RefusedRequest(`Two document paths overlap with each other: ${path.join('.')}`)
    }
    whole.add(own)
    for (const part of parts) above.add(part)
  }
  return paths
}

/** The item after the actions at these paths. All values are those before the update. */
export function updatedItem(
  before: Item,
  actions: readonly Action[],
  { paths, ...scope }: Scope & { readonly paths: ReadonlyArray<readonly string[]> },
): Item {
  return actions.reduce(
    (item, { valueAfter }, nth) => withChange(item, paths[nth] ?? [], one => valueAfter(one, scope)),
    before,
  )
}

function withChange(
  map: Item,
  [name = '', ...below]: readonly string[],
  change: (value: unknown) => unknown,
): Item {
  const before = Object.hasOwn(map, name) ? map[name] : undefined
  if (below.length > 0 && !isMap(before)) {
    throw new RefusedRequest('The document path provided in the update expression is invalid for update')
  }
  const after = below.length > 0 ? withChange(before as Item, below, change) : change(before)
  const { [name]: _before, ...rest } = map
  if (after === undefined) return before === undefined ? map : rest
  // A map in DynamoDB has no order. Here the last write comes first, so that code which relies on the order of writes fails.
  // An attribute may be called `__proto__`.
  return name === '__proto__'
    ? Object.fromEntries([[name, after], ...Object.entries(rest)])
    : { [name]: after, ...rest }
}
