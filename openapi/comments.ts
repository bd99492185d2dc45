import { basename, join, relative, resolve } from 'node:path'
import ts from 'typescript-5'

/**
 * Reads the doc comments of the rules in `shared/api`. A comment on a member of a rule is what an editor shows at the member, and it
 * is the description of the field in the OpenAPI document: the words are written once. The compiler finds the comment of each member, also
 * where members come from another rule or from the core.
 */
export type Comments = ReturnType<typeof readComments>

export type Member = ReturnType<typeof memberFrom>

/** The types that comment each option of a task. The schemas get these members from rules. */
const OPTION_TYPES = 'shared/core/options.ts'

/** `files` are the modules of `shared/api`, relative to the folder `root`. */
export function readComments(root: string, files: readonly string[]) {
  const roots = join(root, 'shared/api/every-schema.ts')
  const program = programOf(root, files, roots)
  const checker = program.getTypeChecker()
  const sources = files.flatMap(file => program.getSourceFile(resolve(root, file)) ?? [])
  const types = new Map(
    exportsOf(program.getSourceFile(roots), checker).map(symbol => [
      symbol.name,
      checker.getDeclaredTypeOfSymbol(symbol),
    ]),
  )
  const options = exportsOf(program.getSourceFile(resolve(root, OPTION_TYPES)), checker)
    .filter(({ name }) => ['Options', 'Retry'].includes(name))
    .flatMap(symbol => checker.getDeclaredTypeOfSymbol(symbol).getProperties())
  const optionOf = new Map(options.map(symbol => [symbol.name, symbol]))
  return {
    /** The type of the values that an exported schema accepts. `name` is its constant's name. */
    typeOf: (file: string, name: string) => {
      const type = types.get(aliasOf(file, name))
      if (!type) throw new Error(`${file} does not export ${name}`)
      return type
    },
    /** The comment on a member of the type; undefined when the type has no such member. */
    memberOf: (type: ts.Type, name: string) => {
      for (const one of alternativesOf(type)) {
        const symbol = checker.getPropertyOfType(one, name)
        if (symbol) return memberFrom(symbol, optionOf.get(name), checker)
      }
      return undefined
    },
    /** The types of a union whose members have these constants; the type itself when it is not a union, or when none fits. */
    alternativesWith: (type: ts.Type, constants: Readonly<Record<string, unknown>>) => {
      const found = alternativesOf(type).filter(one =>
        Object.entries(constants).every(([name, value]) => literalOf(one, name, checker) === value),
      )
      return found.length > 0 ? found : [type]
    },
    /** The types of the elements of a list, or of the values of a record. */
    elementsOf: (type: ts.Type) =>
      alternativesOf(type).flatMap(
        one =>
          checker.getIndexTypeOfType(one, ts.IndexKind.Number) ??
          checker.getIndexTypeOfType(one, ts.IndexKind.String) ??
          [],
      ),
    /** The comment on the schema that has this id, or else on the type that is made from it. */
    schema: (id: string) => schemaComment(sources, id),
  }
}

/** A program with one more file in memory: it names the type of each exported schema, which the compiler then works out. */
function programOf(root: string, files: readonly string[], roots: string): ts.Program {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  const text = rootsText(root, files)
  host.fileExists = path => path === roots || fileExists(path)
  host.getSourceFile = (path, language) =>
    path === roots ? ts.createSourceFile(path, text, language, true) : getSourceFile(path, language)
  return ts.createProgram([roots, resolve(root, OPTION_TYPES)], options, host)
}

function rootsText(root: string, files: readonly string[]): string {
  const lines = files.flatMap((file, index) => {
    const path = relative(join(root, 'shared/api'), resolve(root, file))
    const names = exportedConstants(resolve(root, file))
    return [
      `import type * as module${index} from './${path}'`,
      ...names.map(name => `export type ${aliasOf(file, name)} = ValueOf<typeof module${index}.${name}>`),
    ]
  })
  return ["import type { ValueOf } from '../core/rules/rules.ts'", ...lines].join('\n')
}

function aliasOf(file: string, name: string): string {
  return `${basename(file, '.ts').replaceAll('-', '_')}_${name}`
}

function exportedConstants(path: string): string[] {
  const file = ts.createSourceFile(path, ts.sys.readFile(path) ?? '', ts.ScriptTarget.Latest, true)
  return constantsOf(file)
    .filter(({ statement }) => statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
    .map(({ declaration }) => declaration.name.getText())
}

function constantsOf(file: ts.SourceFile) {
  return file.statements
    .filter(ts.isVariableStatement)
    .flatMap(statement =>
      statement.declarationList.declarations.map(declaration => ({ statement, declaration })),
    )
}

function exportsOf(file: ts.SourceFile | undefined, checker: ts.TypeChecker): ts.Symbol[] {
  const module = file && checker.getSymbolAtLocation(file)
  return module ? checker.getExportsOfModule(module) : []
}

function alternativesOf(type: ts.Type): readonly ts.Type[] {
  return type.isUnion() ? type.types : [type]
}

/** The one value that a member of the type has; undefined when it may have several. */
function literalOf(type: ts.Type, name: string, checker: ts.TypeChecker): unknown {
  const symbol = checker.getPropertyOfType(type, name)
  const of = symbol && checker.getTypeOfSymbol(symbol)
  return of?.isStringLiteral() ? of.value : undefined
}

function memberFrom(symbol: ts.Symbol, option: ts.Symbol | undefined, checker: ts.TypeChecker) {
  const isCommented = symbol.getDocumentationComment(checker).length > 0
  const documented = isCommented ? symbol : (option ?? symbol)
  const words = ts.displayPartsToString(documented.getDocumentationComment(checker))
  const tag = documented.getJsDocTags(checker).find(({ name }) => name === 'default')
  return {
    type: checker.getTypeOfSymbol(symbol),
    comment: oneLine(words),
    /** What holds when the member is left out, as its `@default` says. */
    default: tag && oneLine(ts.displayPartsToString(tag.text)),
    /** Whether it is an option of tasks, which the task, its type and the system may set. */
    isOption: !isCommented && option !== undefined,
  }
}

function oneLine(text: string): string | undefined {
  const words = text.replaceAll(/\s+/g, ' ').trim()
  return words === '' ? undefined : words
}

/** Whether an expression names this component: `strict({…}, 'Publish')`, or a list or an alternative with `component`. */
function isComponent(expression: ts.Expression | undefined, id: string): boolean {
  return new RegExp(`(, |component: )'${id}'`).test(expression?.getText().replaceAll(/\s+/g, ' ') ?? '')
}

/** The comment on the constant whose rule has this id, or else on the exported type that follows from the constant. */
function schemaComment(sources: readonly ts.SourceFile[], id: string): string | undefined {
  for (const file of sources) {
    const found = constantsOf(file).find(({ declaration }) => isComponent(declaration.initializer, id))
    if (!found) continue
    const name = found.declaration.name.getText()
    const isNamed = (one: ts.Statement) => one.getText().includes(`typeof ${name}>`)
    const type = file.statements.find(
      one => (ts.isTypeAliasDeclaration(one) || ts.isInterfaceDeclaration(one)) && isNamed(one),
    )
    return commentOn(found.statement) ?? (type && commentOn(type))
  }
  return undefined
}

function commentOn(statement: ts.Statement): string | undefined {
  const comments = ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)
  return oneLine(ts.getTextOfJSDocComment(comments.at(-1)?.comment) ?? '')
}
