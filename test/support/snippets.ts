import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { PACKAGES } from '../../scripts/build/packages.ts'

const ROOT = resolve(import.meta.dirname, '../..')

const SOURCES = PACKAGES[0]?.exports ?? {}

/** The code blocks of the README in one language, in order. */
export function readmeSnippets(language: 'ts' | 'sh'): string[] {
  return snippets('README.md', language)
}

/** Code that imports this library's sources, where a user's imports the package. `folder` is the code's, relative to the repository. */
export function fromSources(code: string, folder: string): string {
  return code.replaceAll(/(?<=from ')baton-tasks([^']*)/g, (_, path: string) => {
    const source = SOURCES[`.${path}`]
    if (source === undefined) throw new Error(`there is no package path baton-tasks${path}`)
    return relative(resolve(ROOT, folder), resolve(ROOT, source))
  })
}

/** The code blocks of a page in one language, in order. */
export function snippets(page: string, language: 'ts' | 'sh'): string[] {
  const blocks = readFileSync(resolve(ROOT, page), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)
  return [...blocks].filter(([, tag]) => tag === language).map(([, , code = '']) => code)
}
