import { globSync, readFileSync } from 'node:fs'
import { posix, resolve } from 'node:path'

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../..')
const ignored = ['node_modules', 'cdk.out', 'coverage', 'dist']
/** Paths of all TypeScript files, sorted. */
export const files = globSync('**/*.{ts,tsx}', { cwd: root, exclude: path => isIgnored(path) }).sort()
export const sources: ReadonlyMap<string, string> = new Map(
  files.map(file => [file, readFileSync(resolve(root, file), 'utf8')]),
)

export type Import = {
  readonly file: string
  /** A path within the repository, or a package. */
  readonly target: string
  readonly isPackage: boolean
  readonly isType: boolean
}

/** An import. Statements begin at the start of a line; dynamic imports may be anywhere. */
const IMPORT =
  /^(?:import|export)\b([^'"`;]*?)\bfrom\s+'([^'$]+)'|^import\s+'([^'$]+)'|\bimport\('([^'$]+)'\)/gm

/** The imports and re-exports of a file, including types. `text` is the file's content. */
export function importsOf(file: string, text = sources.get(file) ?? ''): Import[] {
  const matches = text.matchAll(IMPORT)
  return [...matches].map(([, clause = '', from, bare, dynamic]) => {
    const specifier = from ?? bare ?? dynamic ?? ''
    const isPackage = !specifier.startsWith('.')
    const target = isPackage ? specifier : posix.join(posix.dirname(file), specifier)
    return { file, target, isPackage, isType: from !== undefined && isTypeClause(clause) }
  })
}

function isTypeClause(clause: string): boolean {
  const names = /\{([^}]*)\}/.exec(clause)?.[1]?.split(',') ?? []
  const inline = names.map(name => name.trim()).filter(name => name !== '')
  return /^\s*type\b/.test(clause) || (inline.length > 0 && inline.every(name => name.startsWith('type ')))
}

export function linesOf(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

/** Whether a path is in a folder that does not belong to the sources. */
export function isIgnored(path: string): boolean {
  return path.split('/').some(part => ignored.includes(part) || (part.startsWith('.') && part.length > 1))
}
