import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** What a synthesis generates, below the working directory; not under version control. */
const FOLDER = '.baton'

/** Absolute path of a generated file. */
export function generatedFile(...path: string[]): string {
  return resolve(join(FOLDER, ...path))
}

/** Writes `file` only when its text changes, and at once, since several syntheses may run side by side. */
export function writeGenerated(file: string, text: string): void {
  if (readIfThere(file) === text) return
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, file)
}

/** What an import in the generated `from` says to get `file`. Relative, so that bundles do not depend on the project's place. */
export function specifier(from: string, file: string): string {
  const path = relative(dirname(from), file).split(sep).join('/')
  return JSON.stringify(path.startsWith('.') ? path : `./${path}`)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
