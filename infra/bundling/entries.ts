import { generatedFile, specifier, writeGenerated } from './generated-file.ts'
import { runtimeModule } from './runtime-module.ts'

/** A definition in a user's file. */
export type DefinitionPlace = { readonly file: string; readonly exportName: string }

/** Writes the Lambda entry that serves the definitions, and returns its absolute path. */
export function writeExecutorEntry(name: string, places: readonly DefinitionPlace[]): string {
  return writeEntry(name, places, {
    imports: entry => `import { executorOf } from ${specifier(entry, runtimeModule('executor'))}`,
    serves: definitions => `export const handler = executorOf(${definitions})`,
  })
}

/** Writes the main file of a container that serves the definitions, and returns its absolute path. */
export function writeWorkerEntry(name: string, places: readonly DefinitionPlace[]): string {
  return writeEntry(name, places, {
    imports: entry => `import { serveTasks } from ${specifier(entry, runtimeModule('worker'))}`,
    serves: definitions => `serveTasks([${definitions}])`,
  })
}

type Lines = { imports(entry: string): string; serves(definitions: string): string }

/** The name of the file is unique in the project. */
function writeEntry(name: string, places: readonly DefinitionPlace[], { imports, serves }: Lines): string {
  const entry = generatedFile('entries', `${name}.ts`)
  const lines = [
    '// Generated at synthesis; do not edit.',
    imports(entry),
    ...places.map(
      ({ file, exportName }, index) =>
        `import { ${exportName} as task${index} } from ${specifier(entry, file)}`,
    ),
    '',
    serves(places.map((_place, index) => `task${index}`).join(', ')),
    '',
  ]
  writeGenerated(entry, lines.join('\n'))
  return entry
}
