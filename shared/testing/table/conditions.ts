import {
  cached,
  type Operand,
  readOperand,
  readPath,
  readValue,
  type Scope,
  type Tokens,
  valueAt,
} from './expressions.ts'
import { RefusedRequest } from './refusals.ts'
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
  const isDoubled = tokens.next() === '('
  const test = readAlternatives(tokens)
  tokens.expect(')')
  if (isDoubled && tokens.next() === ')') throw refused('it may have redundant brackets')
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
    const prefixOf = readValue(tokens)
    return scope => {
      const [value, prefix] = [valueAt(scope, path), prefixOf(scope)]
      if (typeof prefix !== 'string') throw refused('begins_with takes a text')
      return typeof value === 'string' && value.startsWith(prefix)
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

/** A comparison with a missing attribute holds for `<>` alone. Values of different kinds have no order. */
function readComparison(tokens: Tokens): Test {
  const isGiven = [tokens.next().startsWith(':')]
  const left = readOperand(tokens)
  const sign = tokens.next()
  const inOrder = IN_ORDER[sign]
  if (!inOrder && sign !== '=' && sign !== '<>') throw tokens.unknown()
  tokens.take()
  isGiven.push(tokens.next().startsWith(':'))
  const right = readOperand(tokens)
  if (inOrder) return scope => isOrdered([left, right], isGiven, scope, inOrder)
  return scope => {
    const [one, other] = [left(scope), right(scope)]
    const isSame = one !== undefined && other !== undefined && isEqual(one, other)
    return isSame === (sign === '=')
  }
}

function isOrdered(
  operands: readonly Operand[],
  isGiven: readonly boolean[],
  scope: Scope,
  inOrder: (order: number) => boolean,
): boolean {
  const [one, other] = operands.map((operand, nth) => {
    const value = operand(scope)
    const hasOrder = typeof value === 'string' || typeof value === 'number'
    if (!hasOrder && isGiven[nth]) throw refused('a value of this kind has no order')
    return hasOrder ? value : undefined
  })
  if (one === undefined || other === undefined || kindOf(one) !== kindOf(other)) return false
  return inOrder(compared(one, other))
}

function refused(why: string): RefusedRequest {
  return new RefusedRequest(`Invalid ConditionExpression: ${why}`)
}
