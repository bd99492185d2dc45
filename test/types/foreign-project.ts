import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { root } from '../architecture/sources.ts'

/** The files of the project. Those of `strict.ts` hold under `strict` only. */
export const PROJECT = resolve(import.meta.dirname, 'project')

/** Compiler settings of users. Each also checks the declarations of the package itself. */
export const SETTINGS = {
  strict: { strict: true, module: 'nodenext' },
  'strict, with all further checks': {
    strict: true,
    module: 'nodenext',
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    verbatimModuleSyntax: true,
  },
  'not strict': { strict: false, module: 'nodenext' },
  'node16 resolution': { strict: true, module: 'node16' },
  'bundler resolution': { strict: true, module: 'esnext', moduleResolution: 'bundler' },
} as const

export type Settings = keyof typeof SETTINGS

/** Writes the project into a folder of its own, outside the repository, with these packages installed. */
export function foreignProject(packages: Readonly<Record<string, string>>): {
  readonly folder: string
  /** Writes the compiler's settings. @default all files of the project are compiled */
  configure(settings: Settings, files?: readonly string[]): void
  write(file: string, text: string): void
  [Symbol.dispose](): void
} {
  const folder = mkdtempSync(join(tmpdir(), 'baton-types-'))
  cpSync(PROJECT, folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const [name, target] of Object.entries(packages)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(target, link)
  }
  return {
    folder,
    configure: (settings, files) =>
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configOf(settings, files))),
    write: (file, text) => writeFileSync(join(folder, file), text),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function configOf(settings: Settings, include: readonly string[] = ['*.ts']) {
  return {
    compilerOptions: {
      target: 'es2022',
      noEmit: true,
      skipLibCheck: false,
      types: [],
      ...SETTINGS[settings],
    },
    include,
    exclude: SETTINGS[settings].strict ? [] : ['strict.ts'],
  }
}

/** The installed packages of this repository that users have, too. */
export function ownPackages(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map(name => [name, resolve(root, 'node_modules', name)]))
}
