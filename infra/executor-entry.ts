import type { FoundDefinition } from './definition.ts'
import { functionFile } from './function-file.ts'
import { generatedFile, specifier, writeGenerated } from './generated-file.ts'

/** Writes the Lambda entry that serves a definition, and returns its absolute path. */
export function writeExecutorEntry(name: string, { file, exportName }: FoundDefinition): string {
  const entry = generatedFile('entries', `${name}.ts`)
  const lines = [
    '// Generated at synthesis; do not edit.',
    `import { executorOf } from ${specifier(entry, functionFile('executor.ts'))}`,
    `import { ${exportName} as definition } from ${specifier(entry, file)}`,
    '',
    'export const handler = executorOf(definition)',
    '',
  ]
  writeGenerated(entry, lines.join('\n'))
  return entry
}
