import { fileURLToPath } from 'node:url'

/** Absolute path of a file in `functions/`, wherever this package is installed. */
export function functionFile(name: string): string {
  return fileURLToPath(new URL(`../../functions/${name}`, import.meta.url))
}
