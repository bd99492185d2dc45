import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** The code blocks of the README in one language, in order. */
export function readmeSnippets(language: 'ts' | 'sh'): string[] {
  return snippets('README.md', language)
}

/** The code blocks of a page in one language, in order. */
export function snippets(page: string, language: 'ts' | 'sh'): string[] {
  const blocks = readFileSync(resolve(ROOT, page), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)
  return [...blocks].filter(([, tag]) => tag === language).map(([, , code = '']) => code)
}
