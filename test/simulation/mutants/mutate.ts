import ts from 'typescript-5'

/** One small change of a source file. */
export type Mutant = {
  readonly path: string
  readonly operator: Operator
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * What a mutant changes. These are the operators of StrykerJS, as far as the types allow them. Like StrykerJS they leave numbers alone: most
 * numbers are pauses, sizes of batches and reserves, and one more of a hundred is as good.
 */
type Operator =
  | 'condition negated'
  | 'comparison shifted'
  | 'equality inverted'
  | 'and for or'
  | 'arithmetic inverted'
  | 'statement dropped'
  | 'boolean inverted'
  | 'negation dropped'
  | 'method replaced'
  | 'method dropped'
  | 'collection emptied'
  | 'fallback dropped'
  | 'spread dropped'

type Edit = Omit<Mutant, 'path'>

const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, readonly [Operator, string]>>> = {
  [ts.SyntaxKind.LessThanToken]: ['comparison shifted', '<='],
  [ts.SyntaxKind.LessThanEqualsToken]: ['comparison shifted', '<'],
  [ts.SyntaxKind.GreaterThanToken]: ['comparison shifted', '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken]: ['comparison shifted', '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: ['equality inverted', '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: ['equality inverted', '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken]: ['and for or', '||'],
  [ts.SyntaxKind.BarBarToken]: ['and for or', '&&'],
  [ts.SyntaxKind.PlusToken]: ['arithmetic inverted', '-'],
  [ts.SyntaxKind.MinusToken]: ['arithmetic inverted', '+'],
  [ts.SyntaxKind.AsteriskToken]: ['arithmetic inverted', '/'],
  [ts.SyntaxKind.SlashToken]: ['arithmetic inverted', '*'],
}

const INVERSES: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.TrueKeyword]: 'false',
  [ts.SyntaxKind.FalseKeyword]: 'true',
}

/** Methods with a counterpart of the same type. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
}

/** Methods that return a value of the type of what they are called on. The call is replaced by that. */
const DROPPED_METHODS = new Set(['filter', 'sort', 'toSorted', 'reverse', 'toReversed', 'slice', 'trim'])

/** A statement that only writes a line of the log. */
const LOGS = /^(\w+\.)*log\.(debug|info|warn|error)\(/

/** Every mutant of a source file, in the order of the text. Types, imports, texts of messages and lines of the log have none. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const found: Mutant[] = []
  const visit = (node: ts.Node) => {
    if (ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node) || ts.isImportDeclaration(node)) return
    if (ts.isExpressionStatement(node) && LOGS.test(node.getText(file))) return
    for (const edit of editsOf(node, file)) found.push({ path, ...edit })
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function editsOf(node: ts.Node, file: ts.SourceFile): Edit[] {
  const whole = (operator: Operator, text: string, of = node): Edit => ({
    operator,
    start: of.getStart(file),
    end: of.getEnd(),
    text,
  })
  if (ts.isBinaryExpression(node)) return ofBinary(node, file, whole)
  if (ts.isIfStatement(node)) return ofIf(node, file, whole)
  if (ts.isConditionalExpression(node)) return [negated(node.condition, file, whole)]
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [whole('negation dropped', node.operand.getText(file))]
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return ofMethod(node.expression, file, whole)
  const inverse = INVERSES[node.kind]
  if (inverse) return [whole('boolean inverted', inverse)]
  if (ts.isSpreadAssignment(node)) return [whole('spread dropped', '...{}')]
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 0)
    return [whole('collection emptied', '[]')]
  if (ts.isExpressionStatement(node)) return [whole('statement dropped', '{}')]
  return []
}

type Whole = (operator: Operator, text: string, of?: ts.Node) => Edit

/** An `if` is negated. One that returns or throws early is dropped, too: does its condition matter? */
function ofIf(node: ts.IfStatement, file: ts.SourceFile, whole: Whole): Edit[] {
  const { thenStatement, elseStatement } = node
  const isGuard = ts.isReturnStatement(thenStatement) || ts.isThrowStatement(thenStatement)
  const dropped = isGuard && !elseStatement ? [whole('statement dropped', '{}')] : []
  return [negated(node.expression, file, whole), ...dropped]
}

function negated(condition: ts.Expression, file: ts.SourceFile, whole: Whole): Edit {
  return whole('condition negated', `!(${condition.getText(file)})`, condition)
}

function ofBinary(node: ts.BinaryExpression, file: ts.SourceFile, whole: Whole): Edit[] {
  const { operatorToken, left } = node
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) {
    return [whole('fallback dropped', `(${left.getText(file)})`)]
  }
  const [operator, text] = OPERATORS[operatorToken.kind] ?? []
  return operator && text ? [whole(operator, text, operatorToken)] : []
}

function ofMethod(
  { name, expression }: ts.PropertyAccessExpression,
  file: ts.SourceFile,
  whole: Whole,
): Edit[] {
  const counterpart = Object.hasOwn(COUNTERPARTS, name.text) ? COUNTERPARTS[name.text] : undefined
  if (counterpart !== undefined) return [whole('method replaced', counterpart, name)]
  return DROPPED_METHODS.has(name.text) ? [whole('method dropped', expression.getText(file))] : []
}

export function applied(source: string, { start, end, text }: Mutant): string {
  return source.slice(0, start) + text + source.slice(end)
}

/** The number of the line in which the mutant begins; the first is 1. */
export function lineOf(source: string, { start }: Mutant): number {
  return source.slice(0, start).split('\n').length
}

/**
 * The name of a mutant: the changed text, with what replaces it, in its line. Other changes of the file keep it valid, and so does a move
 * to another file.
 */
export function nameOf(source: string, mutant: Mutant): string {
  const { start, end, text } = mutant
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  const lineEnd = source.indexOf('\n', end)
  const before = source.slice(lineStart, start)
  const after = source.slice(end, lineEnd < 0 ? undefined : lineEnd)
  const shown = `${before}⟦${source.slice(start, end)} → ${text}⟧${after}`
  return shown.replaceAll(/\s+/g, ' ').trim()
}
