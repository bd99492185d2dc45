import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The code of this package that users' code is bundled with: the executor of a Lambda handler, the worker of a container. */
export type RuntimeName = 'executor' | 'worker'

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
