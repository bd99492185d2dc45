import { readFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'

/** The imports of the compiled files of a package, read from their text: the compiler writes each on a line of its own. */

/** What a file of a package imports from another package. */
export type OutsideImport = {
  /** Path of the importing file within its package. */
  readonly file: string
  /** The name of the other package. */
  readonly name: string
}

export type Reached = {
  /** Paths within the package of the files that the entries reach, entries included. */
  readonly files: ReadonlySet<string>
  readonly outside: readonly OutsideImport[]
}

/**
 * The files that `entries` (paths within the package) reach by imports. For types, imports lead to declarations. The search does
 * not go on from a bundle, because it contains what it imports.
 */
export function reachedFrom(
  entries: readonly string[],
  folder: string,
  { types, bundles }: { readonly types: boolean; readonly bundles: ReadonlySet<string> },
): Reached {
  const files = new Set<string>()
  const outside: OutsideImport[] = []
  const waiting = [...entries]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    const from = file
    const imported = bundles.has(file) ? [] : specifiersIn(readFileSync(resolve(folder, file), 'utf8'))
    const inside = imported.filter(specifier => specifier.startsWith('.'))
    waiting.push(...inside.map(specifier => fileOf(folder, from, specifier, types)))
    const packages = imported.filter(specifier => !/^(?:\.|node:)/.test(specifier))
    outside.push(...packages.map(specifier => ({ file: from, name: packageOf(specifier) })))
  }
  return { files, outside }
}

const STATEMENT = /^(?:import|export)\s(?:[\w\s{},*$]*\bfrom\s)?['"]([^'"]+)['"]/gm
const CALL = /^(?! *\*).*?\bimport\(['"]([^'"]+)['"]\)/gm

function specifiersIn(text: string): string[] {
  return [...text.matchAll(STATEMENT), ...text.matchAll(CALL)].map(([, specifier = '']) => specifier)
}

function fileOf(folder: string, from: string, specifier: string, types: boolean): string {
  const path = resolve(folder, dirname(from), specifier)
  const file = relative(folder, path).split(sep).join('/')
  return types ? file.replace(/\.js$/, '.d.ts') : file
}

function packageOf(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/')
  return scope.startsWith('@') ? `${scope}/${name}` : scope
}
