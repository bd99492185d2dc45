import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

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

/** The code of this package that users' code is bundled with: the executor of a Lambda handler, the worker of a container. */
type RuntimeName = 'executor' | 'worker'

/** The absolute path of a runtime's module: prebuilt where the package is installed, its source in this repository. */
export function runtimeModule(name: RuntimeName): string {
  return prebuilt(name) ?? sourceFile(`${name}.ts`)
}

/** The absolute path of the prebuilt bundle of a function, or undefined in this repository, which bundles it from source. */
export function prebuilt(name: string): string | undefined {
  const file = sourceFile(`${name}/index.mjs`)
  return existsSync(file) ? file : undefined
}

/** The absolute path of a file in `functions/`, wherever this package is installed. */
export function sourceFile(name: string): string {
  return fileURLToPath(new URL(`../../functions/${name}`, import.meta.url))
}
