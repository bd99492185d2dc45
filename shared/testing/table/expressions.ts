import type { Item } from '../../aws/dynamo/documents.ts'
import { compared, isEqual, isMap, kindOf, RefusedRequest, UnknownPart } from './values.ts'

/**
 * Reads the texts of expressions. Each text is read once: it becomes functions of a scope, which has the item, the names and the values
 * of one request. What no store of the system uses is refused by name: other functions and operators, indexes of lists, and attributes
 * without an alias.
 */

export type Scope = {
  readonly item: Item
  readonly names: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, unknown>>
}

/** The value of an operand. Undefined for an attribute that the item lacks. */
export type Operand = (scope: Scope) => unknown

/** The kinds that a given value may have at one place of an expression. */
export type Wanted = { readonly alias: string; readonly kinds: readonly string[] }

/** An expression: what it means, the names and values that it refers to, and the kinds of values that it needs. */
export type Parsed<Meaning> = {
  readonly meaning: Meaning
  readonly aliases: ReadonlySet<string>
  readonly wanted: readonly Wanted[]
}

/** Source: "Expression parameters" in the quotas of the developer guide of DynamoDB. */
const EXPRESSION_BYTES_MAX = 4 * 1_024
const OPERATORS_MAX = 300
const KNOWN_EXPRESSIONS_MAX = 10_000

const TOKEN = /\s*(?:([#:]?\w+|<>|<=|>=|[=<>(),.+-])|$)/y
const OPERATOR = /^(<>|[<>]=?|[+-]|AND|OR|attribute_\w+|begins_with|if_not_exists)$/

/** The tokens of one expression, from the first on. */
export type Tokens = {
  readonly aliases: Set<string>
  readonly wanted: Wanted[]
  next(): string
  take(): string
  /** Takes the token if it is next. */
  skip(token: string): boolean
  expect(token: string): void
  unknown(): UnknownPart
}

/** A reader of expressions of one kind, which reads each text once. */
export function cached<Meaning>(kind: string, read: (tokens: Tokens) => Meaning) {
  const known = new Map<string, Parsed<Meaning>>()
  return (text: string): Parsed<Meaning> => {
    const present = known.get(text)
    if (present) return present
    if (known.size >= KNOWN_EXPRESSIONS_MAX) known.clear()
    const tokens = tokensOf(kind, text)
    const parsed = { meaning: read(tokens), aliases: tokens.aliases, wanted: tokens.wanted }
    if (tokens.next() !== '') throw tokens.unknown()
    known.set(text, parsed)
    return parsed
  }
}

function tokensOf(kind: string, text: string): Tokens {
  const all = splitText(kind, text)
  let at = 0
  const next = () => all[at] ?? ''
  const unknown = () => new UnknownPart(`'${next() || 'the end'}' in the ${kind} '${text}'`)
  const take = () => {
    at += 1
    return all[at - 1] ?? ''
  }
  const skip = (token: string) => next() === token && take() === token
  const expect = (token: string) => {
    if (!skip(token)) throw unknown()
  }
  return { aliases: new Set(), wanted: [], next, take, skip, expect, unknown }
}

function splitText(kind: string, text: string): string[] {
  const all: string[] = []
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const { lastIndex } = TOKEN
    const [, token] = TOKEN.exec(text) ?? []
    if (token === undefined) throw new UnknownPart(`'${text.slice(lastIndex)}' in the ${kind} '${text}'`)
    all.push(token)
  }
  // The sign of an assignment is not an operator.
  const isOperator = (token: string) => OPERATOR.test(token) || (token === '=' && kind !== 'UpdateExpression')
  const problem = [
    all.length === 0 && 'it is empty',
    Buffer.byteLength(text) > EXPRESSION_BYTES_MAX && `it has more than ${EXPRESSION_BYTES_MAX} bytes`,
    all.filter(isOperator).length > OPERATORS_MAX && `it has more than ${OPERATORS_MAX} operators`,
  ].find(Boolean)
  if (problem) throw new RefusedRequest(`Invalid ${kind}: ${problem}`)
  return all
}

/** A path as its aliases, such as `#live.#fence`. */
export function readPath(tokens: Tokens): readonly string[] {
  const path = [readAlias(tokens, '#')]
  while (tokens.skip('.')) path.push(readAlias(tokens, '#'))
  return path
}

export function readValue(tokens: Tokens, ...kinds: readonly string[]): Operand {
  const alias = readAlias(tokens, ':')
  if (kinds.length > 0) tokens.wanted.push({ alias, kinds })
  return ({ values }) => values[alias]
}

function readAlias(tokens: Tokens, mark: '#' | ':'): string {
  if (!tokens.next().startsWith(mark)) throw tokens.unknown()
  tokens.aliases.add(tokens.next())
  return tokens.take()
}

/** Reads a path or a given value. The value must be of one of these kinds. @default any kind */
export function readOperand(tokens: Tokens, ...kinds: readonly string[]): Operand {
  if (tokens.next().startsWith(':')) return readValue(tokens, ...kinds)
  const path = readPath(tokens)
  return scope => valueAt(scope, path)
}

export function valueAt({ item, names }: Scope, path: readonly string[]): unknown {
  let value: unknown = item
  for (const alias of path) {
    const name = names[alias] ?? ''
    value = isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

type Test = (scope: Scope) => boolean

/** Reads a `ConditionExpression`: comparisons and functions, joined by `AND`, `OR` and brackets. */
export const conditionOf = cached('ConditionExpression', readAlternatives)

function readAlternatives(tokens: Tokens): Test {
  const tests = [readAll(tokens)]
  while (tokens.skip('OR')) tests.push(readAll(tokens))
  return scope => tests.some(test => test(scope))
}

function readAll(tokens: Tokens): Test {
  const tests = [readTest(tokens)]
  while (tokens.skip('AND')) tests.push(readTest(tokens))
  return scope => tests.every(test => test(scope))
}

function readTest(tokens: Tokens): Test {
  if (!tokens.skip('(')) return /^[#:]/.test(tokens.next()) ? readComparison(tokens) : readFunction(tokens)
  // DynamoDB refuses redundant brackets, and no store doubles any.
  if (tokens.next() === '(') throw tokens.unknown()
  const test = readAlternatives(tokens)
  tokens.expect(')')
  return test
}

const FUNCTIONS: Readonly<Record<string, (tokens: Tokens) => Test>> = {
  attribute_exists: tokens => {
    const path = readPath(tokens)
    return scope => valueAt(scope, path) !== undefined
  },
  attribute_not_exists: tokens => {
    const path = readPath(tokens)
    return scope => valueAt(scope, path) === undefined
  },
  begins_with: tokens => {
    const path = readPath(tokens)
    tokens.expect(',')
    const prefixOf = readValue(tokens, 'S')
    return scope => {
      const value = valueAt(scope, path)
      return typeof value === 'string' && value.startsWith(prefixOf(scope) as string)
    }
  },
}

function readFunction(tokens: Tokens): Test {
  const { [tokens.next()]: read } = FUNCTIONS
  if (!read) throw tokens.unknown()
  tokens.take()
  tokens.expect('(')
  const test = read(tokens)
  tokens.expect(')')
  return test
}

const IN_ORDER: Readonly<Record<string, (order: number) => boolean>> = {
  '<': order => order < 0,
  '<=': order => order <= 0,
  '>': order => order > 0,
  '>=': order => order >= 0,
}

const ORDERED = ['S', 'N']

/** A comparison with a missing attribute holds for `<>` alone. Values of different kinds have no order. */
function readComparison(tokens: Tokens): Test {
  const first = tokens.next()
  const left = readOperand(tokens)
  const sign = tokens.next()
  const inOrder = IN_ORDER[sign]
  if (!inOrder && sign !== '=' && sign !== '<>') throw tokens.unknown()
  tokens.take()
  const right = readOperand(tokens, ...(inOrder ? ORDERED : []))
  if (inOrder && first.startsWith(':')) tokens.wanted.push({ alias: first, kinds: ORDERED })
  return scope => {
    const [one, other] = [left(scope), right(scope)]
    if (one === undefined || other === undefined) return sign === '<>'
    if (!inOrder) return isEqual(one, other) === (sign === '=')
    return kindOf(one) === kindOf(other) && hasOrder(one) && hasOrder(other) && inOrder(compared(one, other))
  }
}

function hasOrder(value: unknown): value is string | number {
  return ORDERED.includes(kindOf(value))
}
