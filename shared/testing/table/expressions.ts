import type { Item } from '../../aws/dynamo/stored-form.ts'
import { RefusedRequest, UnknownPart } from './refusals.ts'
import { compared, isEqual, isMap, kindOf } from './values.ts'

/**
 * Reads the expressions of requests. Each text is read once: it becomes functions of a scope, which has the item, the names and the
 * values of one request. Syntax that no store of the system uses is refused by name.
 *
 * - conditions: `AND`, `OR`, brackets, comparisons, `attribute_exists`, `attribute_not_exists`, `begins_with`
 * - updates: `SET` with `+`, `-` and `if_not_exists`, `REMOVE`, and `ADD` of numbers and sets
 */

export type Scope = {
  readonly item: Item | undefined
  readonly names: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, unknown>>
}

/** The value of an operand. Undefined for an attribute that the item lacks. */
export type Operand = (scope: Scope) => unknown
export type Test = (scope: Scope) => boolean

/** An expression: what it means, and the names and values that it refers to. */
export type Parsed<Meaning> = { readonly meaning: Meaning; readonly aliases: ReadonlySet<string> }

export type Action = {
  readonly kind: 'set' | 'remove' | 'add'
  readonly path: Aliases
  readonly value: Operand
}
export type Aliases = readonly string[]

/** Source: "Expression parameters" in the quotas of the developer guide of DynamoDB. */
const EXPRESSION_BYTES_MAX = 4 * 1_024
const OPERATORS_MAX = 300

const TOKEN = /\s*(?:(#\w+|:\w+|[A-Za-z]\w*)|(<>|<=|>=|[=<>(),.+-]))/y
const OPERATOR = /^(<>|<=|>=|[=<>+-]|AND|OR|attribute_\w+|begins_with|if_not_exists)$/i

/** The tokens of one expression, from the first on. */
export type Tokens = {
  readonly aliases: Set<string>
  next(): string | undefined
  take(): string
  /** Takes the token if it is next. Keywords are compared without regard to case. */
  skip(token: string): boolean
  expect(token: string): void
  unknown(): UnknownPart
}

/** A reader of expressions of one kind, which reads each text once. */
export function cached<Meaning>(kind: string, read: (tokens: Tokens) => Meaning) {
  const known = new Map<string, Parsed<Meaning>>()
  return (text: string): Parsed<Meaning> => {
    const parsed = known.get(text)
    if (parsed) return parsed
    if (known.size >= KNOWN_EXPRESSIONS_MAX) known.clear()
    const tokens = tokensOf(kind, text)
    const meaning = read(tokens)
    if (tokens.next() !== undefined) throw tokens.unknown()
    const { aliases } = tokens
    known.set(text, { meaning, aliases })
    return { meaning, aliases }
  }
}

const KNOWN_EXPRESSIONS_MAX = 10_000

function tokensOf(kind: string, text: string): Tokens {
  const bytes = Buffer.byteLength(text)
  if (bytes > EXPRESSION_BYTES_MAX) throw refused(kind, `its ${bytes} bytes exceed ${EXPRESSION_BYTES_MAX}`)
  const all: string[] = []
  for (TOKEN.lastIndex = 0; text.slice(TOKEN.lastIndex).trim() !== ''; ) {
    const { lastIndex } = TOKEN
    const [, name, sign] = TOKEN.exec(text) ?? []
    const token = name ?? sign
    if (token === undefined) throw new UnknownPart(`'${text.slice(lastIndex)}' in the ${kind} '${text}'`)
    all.push(token)
  }
  if (all.length === 0) throw refused(kind, 'it is empty')
  const operators = all.filter(token => OPERATOR.test(token)).length
  const counted =
    kind === 'UpdateExpression' ? operators - all.filter(token => token === '=').length : operators
  if (counted > OPERATORS_MAX) throw refused(kind, `its ${counted} operators exceed ${OPERATORS_MAX}`)
  let at = 0
  const isNext = (token: string) => all[at]?.toUpperCase() === token.toUpperCase()
  const unknown = () => new UnknownPart(`'${all[at] ?? 'the end'}' in the ${kind} '${text}'`)
  const skip = (token: string) => {
    if (!isNext(token)) return false
    at += 1
    return true
  }
  return {
    aliases: new Set(),
    next: () => all[at],
    take: () => {
      const token = all[at]
      if (token === undefined) throw unknown()
      at += 1
      return token
    },
    skip,
    expect: token => {
      if (!skip(token)) throw unknown()
    },
    unknown,
  }
}

function refused(kind: string, why: string): RefusedRequest {
  return new RefusedRequest(`Invalid ${kind}: ${why}`)
}

/** A path as its aliases, such as `#live.#fence`. */
export function readPath(tokens: Tokens): Aliases {
  const path: string[] = []
  do {
    if (!tokens.next()?.startsWith('#')) throw tokens.unknown()
    const alias = tokens.take()
    tokens.aliases.add(alias)
    path.push(alias)
  } while (tokens.skip('.'))
  return path
}

export function readValue(tokens: Tokens): string {
  if (!tokens.next()?.startsWith(':')) throw tokens.unknown()
  const alias = tokens.take()
  tokens.aliases.add(alias)
  return alias
}

export function valueAt({ item, names }: Scope, path: Aliases): unknown {
  let value: unknown = item
  for (const alias of path) {
    const name = names[alias] ?? ''
    value = isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

function readOperand(tokens: Tokens): Operand {
  if (tokens.next()?.startsWith(':')) {
    const alias = readValue(tokens)
    return ({ values }) => values[alias]
  }
  const path = readPath(tokens)
  return scope => valueAt(scope, path)
}

/** Reads a `ConditionExpression`. */
export const conditionOf = cached('ConditionExpression', readAlternatives)

function readAlternatives(tokens: Tokens): Test {
  const tests = [readAll(tokens)]
  while (tokens.skip('OR')) tests.push(readAll(tokens))
  return tests.length === 1 && tests[0] ? tests[0] : scope => tests.some(test => test(scope))
}

function readAll(tokens: Tokens): Test {
  const tests = [readTest(tokens)]
  while (tokens.skip('AND')) tests.push(readTest(tokens))
  return tests.length === 1 && tests[0] ? tests[0] : scope => tests.every(test => test(scope))
}

function readTest(tokens: Tokens): Test {
  if (tokens.skip('(')) {
    const isDoubled = tokens.next() === '('
    const test = readAlternatives(tokens)
    tokens.expect(')')
    // DynamoDB refuses redundant brackets. Only brackets within brackets are taken for such: no request has any.
    if (isDoubled && tokens.next() === ')') throw tokens.unknown()
    return test
  }
  const name = tokens.next() ?? ''
  return /^[#:]/.test(name) ? readComparison(tokens) : readFunction(tokens)
}

function readFunction(tokens: Tokens): Test {
  const name = tokens.next()
  if (name !== 'attribute_exists' && name !== 'attribute_not_exists' && name !== 'begins_with') {
    throw tokens.unknown()
  }
  tokens.take()
  tokens.expect('(')
  const path = readPath(tokens)
  const prefix = name === 'begins_with' ? readPrefix(tokens) : undefined
  tokens.expect(')')
  if (prefix) return scope => isPrefixed(valueAt(scope, path), prefix(scope))
  return scope => (valueAt(scope, path) === undefined) === (name === 'attribute_not_exists')
}

function readPrefix(tokens: Tokens): Operand {
  tokens.expect(',')
  const alias = readValue(tokens)
  return ({ values }) => values[alias]
}

function isPrefixed(value: unknown, prefix: unknown): boolean {
  if (typeof prefix !== 'string') throw refused('ConditionExpression', 'begins_with takes a text')
  return typeof value === 'string' && value.startsWith(prefix)
}

const COMPARISONS: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '=': (left, right) => left !== undefined && right !== undefined && isEqual(left, right),
  '<>': (left, right) => left === undefined || right === undefined || !isEqual(left, right),
  '<': (left, right) => isOrdered(left, right, order => order < 0),
  '<=': (left, right) => isOrdered(left, right, order => order <= 0),
  '>': (left, right) => isOrdered(left, right, order => order > 0),
  '>=': (left, right) => isOrdered(left, right, order => order >= 0),
}

/** Whether two values of one kind are in this order. Values of different kinds are in none. */
function isOrdered(left: unknown, right: unknown, inOrder: (order: number) => boolean): boolean {
  if (left === undefined || right === undefined || kindOf(left) !== kindOf(right)) return false
  return hasOrder(left) && hasOrder(right) && inOrder(compared(left, right))
}

function hasOrder(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** A value that is given with the request must have an order. DynamoDB does not ask this of attributes. */
function orderedOperand(tokens: Tokens): Operand {
  const isGiven = tokens.next()?.startsWith(':')
  const operand = readOperand(tokens)
  return scope => {
    const value = operand(scope)
    if (isGiven && !hasOrder(value)) throw refused('ConditionExpression', 'a value of this kind has no order')
    return value
  }
}

function readComparison(tokens: Tokens): Test {
  const left = readOperand(tokens)
  const compare = COMPARISONS[tokens.next() ?? '']
  if (!compare) throw tokens.unknown()
  const isOfOrder = /[<>]/.test(tokens.next() ?? '') && tokens.next() !== '<>'
  tokens.take()
  const right = isOfOrder ? orderedOperand(tokens) : readOperand(tokens)
  return scope => compare(left(scope), right(scope))
}

/** Reads an `UpdateExpression`. */
export const updateOf = cached('UpdateExpression', tokens => {
  const actions: Action[] = []
  const seen = new Set<string>()
  while (tokens.next() !== undefined) {
    const clause = CLAUSES[(tokens.next() ?? '').toUpperCase()]
    if (!clause) throw tokens.unknown()
    const name = tokens.take().toUpperCase()
    if (seen.has(name)) throw refused('UpdateExpression', `it has two clauses ${name}`)
    seen.add(name)
    do actions.push(clause(tokens))
    while (tokens.skip(','))
  }
  return actions
})

const CLAUSES: Readonly<Record<string, (tokens: Tokens) => Action>> = {
  SET: tokens => {
    const path = readPath(tokens)
    tokens.expect('=')
    return { kind: 'set', path, value: readSum(tokens) }
  },
  REMOVE: tokens => ({ kind: 'remove', path: readPath(tokens), value: () => undefined }),
  ADD: tokens => {
    const path = readPath(tokens)
    const alias = readValue(tokens)
    return { kind: 'add', path, value: ({ values }) => values[alias] }
  },
}

function readSum(tokens: Tokens): Operand {
  const left = readSummand(tokens)
  const sign = tokens.next()
  if (sign !== '+' && sign !== '-') return scope => present(left(scope))
  tokens.take()
  const right = readSummand(tokens)
  return scope => sumOf(present(left(scope)), present(right(scope)), sign === '+' ? 1 : -1)
}

function readSummand(tokens: Tokens): Operand {
  if (/^[#:]/.test(tokens.next() ?? '')) return readOperand(tokens)
  if (tokens.next() !== 'if_not_exists') throw tokens.unknown()
  tokens.take()
  tokens.expect('(')
  const path = readPath(tokens)
  tokens.expect(',')
  const otherwise = readSummand(tokens)
  tokens.expect(')')
  return scope => valueAt(scope, path) ?? otherwise(scope)
}

function present(value: unknown): unknown {
  if (value !== undefined) return value
  throw new RefusedRequest('The provided expression refers to an attribute that does not exist in the item')
}

/** The sum of whole numbers, or of short decimal ones. DynamoDB adds decimal numbers exactly. */
export function sumOf(left: unknown, right: unknown, sign: 1 | -1 = 1): number {
  if (typeof left !== 'number' || typeof right !== 'number') {
    throw new RefusedRequest('An operand in the update expression has an incorrect data type')
  }
  const sum = left + sign * right
  return Number.isInteger(sum) ? sum : Number(sum.toPrecision(15))
}
