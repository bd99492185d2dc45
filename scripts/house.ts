/**
 * Counts what the house style limits: functions above 60 lines, short files, imports, folders with one file, and circles of files.
 * `node scripts/house.ts` prints the counts of each folder at the root, and of `local/events` alone with `node scripts/house.ts local/events`.
 * `test/architecture/house.test.ts` holds the code to them.
 */

import { globSync, readFileSync } from 'node:fs'
import { posix, resolve } from 'node:path'
import ts from 'typescript-5'

/** A function counts whole: from its first line to its last, with the closures and the comments in it. */
export const FUNCTION_LINES_MAX = 60
const SHORT_FILE_CODE_LINES = 40

const ROOT = resolve(import.meta.dirname, '..')
/** The folders whose code is shipped, or makes what is shipped. */
export const PRODUCTION = [
  'shared',
  'functions',
  'infra',
  'loopback',
  'local',
  'cli',
  'create',
  'openapi',
  'scripts',
  'web',
]
/** Files of a user's project, which are copied as they are. */
const TEMPLATES = 'create/template/'

type LongFunction = { readonly file: string; readonly name: string; readonly lines: number }

/** What is counted of one file. */
export type FileCounts = ReturnType<typeof countFile>

if (import.meta.main) console.log(report(countFiles(productionFiles()), process.argv[2]))

/** The paths of all production files, sorted. */
export function productionFiles(): string[] {
  const files = globSync(`{${PRODUCTION}}/**/*.{ts,tsx,mjs}`, { cwd: ROOT })
  return files
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => !file.startsWith(TEMPLATES) && !/(^|\/)(node_modules|dist|cdk\.out)\//.test(file))
    .sort()
}

export function countFiles(files: readonly string[]): FileCounts[] {
  return files.map(file => countFile(file, readFileSync(resolve(ROOT, file), 'utf8')))
}

export function countFile(file: string, text: string) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const statements = source.statements.filter(isImport)
  return {
    file,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    /** Lines that hold more than a comment. */
    codeLines: codeLinesOf(source),
    importLines: statements.reduce((sum, statement) => sum + linesOf(source, statement), 0),
    longFunctions: longFunctionsIn(source),
    /** The files of the repository that it imports, by a type too. Imports at run time by `import()` do not count. */
    imports: statements.flatMap(({ moduleSpecifier }) => targetOf(file, moduleSpecifier)),
  }
}

type Import = ts.ImportDeclaration | ts.ExportDeclaration

function isImport(statement: ts.Statement): statement is Import {
  return (
    ts.isImportDeclaration(statement) ||
    (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined)
  )
}

function targetOf(file: string, specifier: ts.Expression | undefined): string[] {
  if (!specifier || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.')) return []
  return [posix.join(posix.dirname(file), specifier.text)]
}

function linesOf(source: ts.SourceFile, node: ts.Node): number {
  return lineOf(source, node.end) - lineOf(source, node.getStart(source)) + 1
}

function lineOf(source: ts.SourceFile, position: number): number {
  return source.getLineAndCharacterOfPosition(position).line
}

/** Lines that have at least a part of a token. The tokens of the syntax leave comments and empty lines out. */
function codeLinesOf(source: ts.SourceFile): number {
  const lines = new Set<number>()
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return
    const children = node.getChildren(source)
    for (const child of children) visit(child)
    if (children.length > 0 || node.kind === ts.SyntaxKind.EndOfFileToken || node.getWidth(source) === 0)
      return
    for (let line = lineOf(source, node.getStart(source)); line <= lineOf(source, node.end); line++)
      lines.add(line)
  }
  visit(source)
  return lines.size
}

function longFunctionsIn(source: ts.SourceFile): LongFunction[] {
  const long: LongFunction[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const lines = linesOf(source, node)
      if (lines > FUNCTION_LINES_MAX) long.push({ file: source.fileName, name: nameOf(node, source), lines })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return long
}

/** The name of a function, or of what it is assigned to. */
function nameOf(node: ts.SignatureDeclaration, source: ts.SourceFile): string {
  if (node.name) return node.name.getText(source)
  const { parent } = node
  const isNamed = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)
  return isNamed ? parent.name.getText(source) : 'a function without a name'
}

/** The circles of files: sets of files each of which reaches all others by imports. */
export function circlesOf(files: ReadonlyArray<Pick<FileCounts, 'file' | 'imports'>>): string[][] {
  const importsOf = new Map(files.map(({ file, imports }) => [file, imports]))
  const reached = new Map(files.map(({ file }) => [file, reachedFrom(file, importsOf)]))
  const circles = files.map(({ file }) =>
    [...(reached.get(file) ?? [])].filter(other => reached.get(other)?.has(file)).sort(),
  )
  return circles.filter((circle, nth) => circle[0] === files[nth]?.file)
}

/** The files that a file reaches by its imports: itself, too, if one leads back to it. */
function reachedFrom(file: string, importsOf: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const open = [file]
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const target of importsOf.get(next) ?? []) {
      if (reached.has(target)) continue
      reached.add(target)
      open.push(target)
    }
  return reached
}

/** Folders that hold one file and no folder. */
export function singleFileFolders(files: readonly string[]): string[] {
  const byFolder = Map.groupBy(files, file => posix.dirname(file))
  const hasFolders = (folder: string) => [...byFolder.keys()].some(other => other.startsWith(`${folder}/`))
  return [...byFolder]
    .filter(([folder, { length }]) => length === 1 && !hasFolders(folder))
    .map(([folder]) => folder)
}

function report(all: readonly FileCounts[], within: string | undefined): string {
  const counts = within === undefined ? all : all.filter(({ file }) => file.startsWith(within))
  const long = counts.flatMap(({ longFunctions }) => longFunctions).sort((a, b) => b.lines - a.lines)
  const short = counts.filter(({ codeLines }) => codeLines < SHORT_FILE_CODE_LINES)
  const circles = circlesOf(counts)
  const single = singleFileFolders(counts.map(({ file }) => file))
  const folders = Map.groupBy(counts, ({ file }) => file.split('/')[0] ?? file)
  return [
    ...section(
      `functions above ${FUNCTION_LINES_MAX} lines`,
      long.map(one => `${one.lines} ${one.file} ${one.name}`),
    ),
    ...section(
      'circles of files',
      circles.map(circle => circle.join(' ')),
    ),
    ...section('folders with one file', single),
    ...(within === undefined
      ? []
      : section(
          `files of fewer than ${SHORT_FILE_CODE_LINES} lines of code`,
          short.map(({ file, codeLines }) => `${codeLines} ${file}`),
        )),
    ...[...folders].map(([folder, files]) => summary(folder, files)),
    summary('all', counts),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string[] {
  return [`${title}: ${lines.length}`, ...lines.map(line => `  ${line}`), '']
}

function summary(name: string, files: readonly FileCounts[]): string {
  const sum = (of: (file: FileCounts) => number) => files.reduce((total, file) => total + of(file), 0)
  const [lines, imports] = [sum(file => file.lines), sum(file => file.importLines)]
  const short = files.filter(({ codeLines }) => codeLines < SHORT_FILE_CODE_LINES).length
  const share = ((100 * imports) / lines).toFixed(1)
  return [
    `${name.padEnd(10)} ${files.length} files, ${short} of them short; ${lines} lines, ${sum(file => file.codeLines)} of code,`,
    `${share} % imports`,
  ].join(' ')
}
