import { generatedFile, specifier, writeGenerated } from './generated-file.ts'
import { runtimeModule } from './runtime-module.ts'

/** A definition in a user's file. */
export type DefinitionPlace = { readonly file: string; readonly exportName: string }

/** Writes the Lambda entry that serves a definition, and returns its absolute path. */
export function writeExecutorEntry(name: string, { file, exportName }: DefinitionPlace): string {
  return writeEntry(name, entry => [
    `import { executorOf } from ${specifier(entry, runtimeModule('executor'))}`,
    `import { ${exportName} as definition } from ${specifier(entry, file)}`,
    '',
    'export const handler = executorOf(definition)',
  ])
}

/** Writes the entry of a bundle as `<name>.ts`, and returns its absolute path. The name is unique in the project. */
export function writeEntry(name: string, linesOf: (entry: string) => readonly string[]): string {
  const entry = generatedFile('entries', `${name}.ts`)
  writeGenerated(entry, ['// Generated at synthesis; do not edit.', ...linesOf(entry), ''].join('\n'))
  return entry
}
