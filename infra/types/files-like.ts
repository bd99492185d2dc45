import { existsSync, readdirSync } from 'node:fs'
import { join, posix, relative, resolve, sep } from 'node:path'
import { BatonError } from '../../shared/core/errors.ts'

const NO_ENTRY = /(\.d\.[cm]?ts|\.(test|spec)\.[^.]+)$/

/**
 * Returns the files that match the patterns, sorted, each once, relative to the working directory. A pattern without `*`, `?` or `{` is
 * the path of one file.
 *
 * @throws BatonError `invalid` for a pattern that matches no file.
 */
export function filesLike(patterns: readonly string[]): string[] {
  if (patterns.length === 0)
    throw new BatonError('invalid', 'entries is an empty list; name at least one file')
  return [...new Set(patterns.flatMap(matching))].sort()
}

function matching(pattern: string): string[] {
  if (!/[*?{]/.test(pattern)) return [pattern]
  const parts = posix.normalize(pattern).split('/')
  const fixed = parts.slice(
    0,
    parts.findIndex(part => /[*?{]/.test(part)),
  )
  const folder = resolve(fixed.join('/') || (pattern.startsWith('/') ? '/' : '.'))
  const expression = new RegExp(`^${parts.slice(fixed.length).map(expressionOf).join('')}$`)
  const found = existsSync(folder) ? filesBelow(folder) : []
  const files = found.filter(file => expression.test(file) && !NO_ENTRY.test(file))
  if (files.length > 0) return files.map(file => relative(process.cwd(), join(folder, file)))
  throw new BatonError('invalid', `entries: no file matches '${pattern}' in ${process.cwd()}`)
}

/** A part of a pattern as a regular expression, with the slash that follows it. */
function expressionOf(part: string, index: number, parts: readonly string[]): string {
  const isLast = index === parts.length - 1
  if (part === '**') return isLast ? '.*' : '(?:[^/]+/)*'
  const name = part
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/[*?]|\{([^}]*)\}/g, (sign, choice?: string) => {
      if (choice !== undefined) return `(?:${choice.split(',').join('|')})`
      return sign === '*' ? '[^/]*' : '[^/]'
    })
  return isLast ? name : `${name}/`
}

function filesBelow(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const path = join(below, entry.name)
    if (!entry.isDirectory()) return [path.split(sep).join('/')]
    return entry.name === 'node_modules' ? [] : filesBelow(folder, path)
  })
}
