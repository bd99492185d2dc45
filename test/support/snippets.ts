import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const README = resolve(import.meta.dirname, '../../README.md')

/** The code blocks of the README in one language, in order. */
export function readmeSnippets(language: 'ts' | 'sh'): string[] {
  const blocks = readFileSync(README, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)
  return [...blocks].filter(([, tag]) => tag === language).map(([, , code = '']) => code)
}
