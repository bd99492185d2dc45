import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** The folder of generated files, below the working directory and outside version control. */
const FOLDER = '.baton'

/** Absolute path of a generated file. */
export function generatedFile(...path: string[]): string {
  return resolve(join(FOLDER, ...path))
}

/** Writes `file` if its text has changed. The write is atomic, because several syntheses may run at the same time. */
export function writeGenerated(file: string, text: string): void {
  if (readIfThere(file) === text) return
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, file)
}

/**
 * The specifier by which the generated file `from` imports `file`. It is relative, so that bundles do not depend on the
 * project's path.
 */
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
