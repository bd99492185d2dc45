import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { BundleSpec } from '../../infra/bundling/esbuild.ts'
import type { DeployedType, System } from './synthesis/systems.ts'

/** What a developer needs to know of a system that has just started: its address, its types, and how a worker joins it. */
export function summaryOf(system: System, apiUrl: string, folder: string, hasDashboard = false): string {
  const files = new Map(system.handlers.flatMap(({ bundle }) => [...handlerFiles(bundle, folder)]))
  const width =
    Math.max(
      ...system.types.map(({ type }) => type.length),
      ...(hasDashboard ? ['dashboard'.length] : []),
      'HTTP API'.length,
    ) + 2
  const row = (name: string, text: string) => `  ${name.padEnd(width)}${text}`
  const types = system.types.toSorted((a, b) => a.type.localeCompare(b.type))
  return [
    ...(hasDashboard ? [row('dashboard', `${apiUrl}/`)] : []),
    row('HTTP API', `${apiUrl}  (OpenAPI: ${apiUrl}/v1/openapi.json)`),
    ...(hasDashboard ? [row('reference', `${apiUrl}/docs`)] : []),
    ...types.map(one => row(one.type, serverOf(one, files))),
    `A worker of your own joins with: npx baton worker FILE --url ${apiUrl}`,
  ].join('\n')
}

function serverOf({ type, kind, servedBy, configuration }: DeployedType, files: ReadonlyMap<string, string>) {
  if (kind === 'flow') return `flow: ${stepsIn(configuration).join(' → ')}`
  if (servedBy === 'workers') return 'served by workers'
  return files.get(type) ?? (kind === 'webhook' ? 'calls a URL' : 'served by a function')
}

/** An import of a definition in a generated entry. Other imports rename nothing. */
const DEFINITION = /^import \{ \w+ as \w+ \} from ("[^"]+")/gm

/** The file of each type that a function serves, relative to the project. */
function handlerFiles({ entry, types }: BundleSpec, folder: string): Map<string, string> {
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

function stepsIn(configuration: string): string[] {
  const { steps = [] } = JSON.parse(configuration) as {
    readonly steps?: ReadonlyArray<{ readonly name: string }>
  }
  return steps.map(({ name }) => name)
}

/** What a deployment changes, in words: `type thumbnail is new; type resize has changed`. */
export function changesBetween(before: System, after: System): string {
  const [old, fresh] = [before, after].map(({ types }) => new Map(types.map(one => [one.type, one])))
  if (!old || !fresh) return ''
  const added = [...fresh.keys()].filter(type => !old.has(type))
  const removed = [...old.keys()].filter(type => !fresh.has(type))
  const changed = [...fresh.values()].filter(one => isChanged(old.get(one.type), one)).map(({ type }) => type)
  const parts = [clause(added, 'new'), clause(changed, 'changed'), clause(removed, 'removed')]
  return parts.filter(part => part !== '').join('; ') || 'resources changed'
}

function isChanged(before: DeployedType | undefined, after: DeployedType): boolean {
  return before !== undefined && JSON.stringify(before) !== JSON.stringify(after)
}

function clause(types: readonly string[], word: string): string {
  return types.length === 0 ? '' : `${word}: ${types.join(', ')}`
}
