import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, posix, resolve } from 'node:path'
import ts from 'typescript-5'

/**
 * Writes the types of the HTTP API out. In the repository they follow from rules (`ValueOf<typeof publishBody>`), so their declarations
 * lose the comments of members whose rules are made by functions, and editors show how a type is computed instead of its members.
 *
 * `shared/api/contract.d.ts` has each exported type of `shared/api` as plain members with their comments. All other declarations of the
 * package take the types from there.
 */
const CONTRACT = 'contract'

/** Files of `shared/api` that export no types of the contract. */
const OTHERS = ['endpoints.ts', 'paths.ts', 'index.ts']

/** The file whose types have the comments of the options of tasks, which the bodies get from rules of the core. */
const OPTIONS = 'shared/core/options.ts'

/** The line width of the repository, at which comments are wrapped. */
const COMMENT_CHARACTERS = 130

/** Writes the types of the API into the compiled package in `folder`, and lets the other declarations import them. */
export function writeTypesOfApi(root: string, folder: string): void {
  const contract = contractOf(root)
  writeFileSync(join(folder, `shared/api/${CONTRACT}.d.ts`), contract.text)
  for (const file of globSync('**/*.d.ts', { cwd: folder })) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    const isOfApi = file.startsWith('shared/api/') && basename(file) !== `${CONTRACT}.d.ts`
    writeFileSync(path, isOfApi ? withoutOwn(file, text, contract.names) : withContract(file, text))
  }
}

/** Another module of the package takes types from the contract in place of the file with the rules. */
function withContract(file: string, text: string): string {
  const api = file.startsWith('shared/') ? 'api' : 'shared/api'
  const source = new RegExp(
    `(['"])((?:\\.{1,2}/)+${api})/(?!endpoints\\.|paths\\.|index\\.|${CONTRACT}\\.)(?:[\\w-]+/)*[\\w-]+\\.js\\1`,
    'g',
  )
  return text.replace(source, `$1$2/${CONTRACT}.js$1`)
}

/**
 * A module of the API takes the types that it declares from the contract. Its rules are not declared: no entry exports them, and their
 * types are long.
 */
function withoutOwn(path: string, text: string, names: ReadonlySet<string>): string {
  const file = ts.createSourceFile('api.d.ts', text, ts.ScriptTarget.Latest, true)
  const own = file.statements
    .filter(one => ts.isTypeAliasDeclaration(one) || ts.isInterfaceDeclaration(one))
    .filter(one => names.has(one.name.text))
  const rules = file.statements.filter(
    one => isRuleOrPrivate(one) && !own.includes(one as (typeof own)[number]),
  )
  if (own.length === 0 && rules.length === 0) return text
  const list = own.map(({ name }) => name.text).join(', ')
  const kept = [...own, ...rules]
    .sort((a, b) => a.pos - b.pos)
    .reduceRight((rest, one) => rest.slice(0, one.getFullStart()) + rest.slice(one.end), text)
  if (own.length === 0) return kept
  const place = posix.relative(dirname(path), 'shared/api') || '.'
  const from = `'${place}/${CONTRACT}.js'`
  return `import type { ${list} } from ${from};\nexport type { ${list} } from ${from};\n${kept}`
}

/** A constant that is a rule, or what only this module uses. */
function isRuleOrPrivate(statement: ts.Statement): boolean {
  if (ts.isVariableStatement(statement) && /\w*Rule</.test(statement.getText())) return true
  const isDeclared = ts.isVariableStatement(statement) || ts.isTypeAliasDeclaration(statement)
  return isDeclared && !statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

type Exported = { readonly name: string; readonly type: ts.Type; readonly symbol: ts.Symbol }

/** The text of the contract's declarations, and the names in it. */
function contractOf(root: string): { text: string; names: ReadonlySet<string> } {
  const files = globSync('shared/api/**/*.ts', { cwd: root }).filter(file => !OTHERS.includes(basename(file)))
  const program = programOf(root, files)
  const checker = program.getTypeChecker()
  const exported = files.sort().flatMap(file => exportsOf(program, checker, resolve(root, file)))
  const options = exportsOf(program, checker, resolve(root, OPTIONS))
  const printer = { checker, exported, options: membersOf(options, checker), imports: new Set<string>() }
  const declarations = exported.map(one => declarationOf(one, printer)).join('\n\n')
  const imports = [...printer.imports].sort().map(line => `${line}\n`)
  return { text: `${imports.join('')}\n${declarations}\n`, names: new Set(exported.map(({ name }) => name)) }
}

function programOf(root: string, files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  return ts.createProgram(
    files.map(file => resolve(root, file)),
    options,
  )
}

function exportsOf(program: ts.Program, checker: ts.TypeChecker, path: string): Exported[] {
  const file = program.getSourceFile(path)
  const module = file && checker.getSymbolAtLocation(file)
  if (!module) throw new Error(`${path} exports nothing`)
  return checker
    .getExportsOfModule(module)
    .filter(({ flags }) => flags & (ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Interface))
    .map(symbol => ({ name: symbol.name, symbol, type: checker.getDeclaredTypeOfSymbol(symbol) }))
}

/** The members of all the types, by their names. */
function membersOf(types: readonly Exported[], checker: ts.TypeChecker): ReadonlyMap<string, ts.Symbol> {
  const symbols = types
    .flatMap(({ type }) => checker.getPropertiesOfType(type))
    .filter(symbol => symbol.getDocumentationComment(checker).length > 0)
  return new Map(symbols.map(symbol => [symbol.name, symbol] as const))
}

type Printer = {
  readonly checker: ts.TypeChecker
  /** The exported types, which are printed by their names. */
  readonly exported: readonly Exported[]
  /** The members of the options of tasks. A member without a comment has that of the option of its name. */
  readonly options: ReadonlyMap<string, ts.Symbol>
  readonly imports: Set<string>
}

function declarationOf({ name, symbol, type }: Exported, printer: Printer): string {
  const comment = commentOf(symbol, printer, '')
  const [declaration] = symbol.declarations ?? []
  const isGeneric =
    declaration !== undefined &&
    ts.isTypeAliasDeclaration(declaration) &&
    declaration.typeParameters !== undefined
  if (isGeneric) return `${comment}${declaration.getText()}`
  const text = writtenOut(type, printer, '')
  const isObject = text.startsWith('{') && text.indexOf('\n}') === text.length - 2
  return isObject ? `${comment}export interface ${name} ${text}` : `${comment}export type ${name} = ${text}`
}

function textOf(type: ts.Type, printer: Printer, indent: string): string {
  const name = nameOf(type, printer)
  if (name !== undefined) return name
  return type.aliasSymbol?.name === 'Json' ? jsonIn(printer) : writtenOut(type, printer, indent)
}

/** The name of the exported type that is the same, also when the compiler has made it twice, such as the read-only form of it. */
function nameOf(type: ts.Type, { checker, exported }: Printer): string | undefined {
  const isObject = type.isIntersection() || (type.flags & ts.TypeFlags.Object) !== 0
  if (!isObject || checker.isArrayType(type)) return undefined
  const members = memberNames(type, checker)
  const isSame = (other: ts.Type) =>
    other === type ||
    (memberNames(other, checker) === members &&
      checker.isTypeAssignableTo(type, other) &&
      checker.isTypeAssignableTo(other, type))
  return exported.find(one => isSame(one.type))?.name
}

function memberNames(type: ts.Type, checker: ts.TypeChecker): string {
  return checker
    .getPropertiesOfType(type)
    .map(({ name }) => name)
    .sort()
    .join()
}

function writtenOut(type: ts.Type, printer: Printer, indent: string): string {
  const { checker } = printer
  if (type.isUnion()) return unionOf(type, printer, indent)
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type as ts.TypeReference)
    return element ? `ReadonlyArray<${textOf(element, printer, indent)}>` : 'readonly unknown[]'
  }
  const isObject = type.isIntersection() || (type.flags & ts.TypeFlags.Object) !== 0
  return isObject ? objectOf(type, printer, indent) : checker.typeToString(type)
}

/** The members of a union in the order of their text, because the order of the compiler may change with any other source. */
function unionOf(type: ts.UnionType, printer: Printer, indent: string): string {
  const present = type.types.filter(one => !(one.flags & ts.TypeFlags.Undefined))
  const texts = new Set(present.map(one => textOf(one, printer, indent)))
  // The compiler forgets the name of `Json` when the member is optional. No other type of the contract has lists of it beside texts.
  if (texts.has('ReadonlyArray<Json>') && texts.has('string')) return jsonIn(printer)
  if (texts.has('true') && texts.has('false')) {
    texts.delete('true')
    texts.delete('false')
    texts.add('boolean')
  }
  return [...texts].sort().join(' | ')
}

function jsonIn({ imports }: Printer): string {
  imports.add("import type { Json } from '../core/values/values.js'")
  return 'Json'
}

function objectOf(type: ts.Type, printer: Printer, indent: string): string {
  const { checker } = printer
  const inner = `${indent}  `
  const indexed = checker
    .getIndexInfosOfType(type)
    .map(info => `${inner}readonly [name: string]: ${textOf(info.type, printer, inner)}`)
  const members = checker.getPropertiesOfType(type).map(symbol => memberOf(symbol, printer, inner))
  const lines = [...indexed, ...members]
  return lines.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${lines.join('\n')}\n${indent}}`
}

function memberOf(symbol: ts.Symbol, printer: Printer, indent: string): string {
  const isOptional = (symbol.flags & ts.SymbolFlags.Optional) !== 0
  const name = /^\w+$/.test(symbol.name) ? symbol.name : `'${symbol.name}'`
  const text = textOf(printer.checker.getTypeOfSymbol(symbol), printer, indent)
  return `${commentOf(symbol, printer, indent)}${indent}readonly ${name}${isOptional ? '?' : ''}: ${text}`
}

function commentOf(symbol: ts.Symbol, { checker, options }: Printer, indent: string): string {
  const own = symbol.getDocumentationComment(checker)
  const documented = own.length > 0 ? symbol : (options.get(symbol.name) ?? symbol)
  const words = ts.displayPartsToString(documented.getDocumentationComment(checker)).split(/\s+/)
  const tags = documented
    .getJsDocTags(checker)
    .map(({ name, text }) => `@${name} ${ts.displayPartsToString(text)}`.trim())
  const lines = [...wrapped(words, COMMENT_CHARACTERS - indent.length), ...tags].filter(line => line !== '')
  if (lines.length === 0) return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map(line => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

function wrapped(words: readonly string[], characters: number): string[] {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || `${last} ${word}`.length > characters) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
