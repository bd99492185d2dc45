import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { BundleSpec } from './systems.ts'

/** An import of a definition in a generated entry. Other imports rename nothing. */
const DEFINITION = /^import \{ \w+ as \w+ \} from ("[^"]+")/gm

/** The file of each type that a function serves, relative to the project. */
export function handlerFiles({ entry, types }: BundleSpec, folder: string): Map<string, string> {
  const paths = [...readIfThere(entry).matchAll(DEFINITION)].map(([, path = '""']) =>
    relative(folder, resolve(dirname(entry), JSON.parse(path) as string)),
  )
  const fileOf = (index: number) => (paths.length === types.length ? paths[index] : paths.join(', '))
  return new Map(types.map((type, index) => [type, fileOf(index) ?? '']))
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
