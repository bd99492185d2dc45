import { cached, readOperand, readPath, readValue, type Scope, type Tokens, valueAt } from './expressions.ts'
import { compared, isEqual, kindOf } from './values.ts'

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
