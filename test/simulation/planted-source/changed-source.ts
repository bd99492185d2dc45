import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** The text of changed source files, by their path in the repository. */
export type ChangedSource = Readonly<Record<string, string>>

/** One replacement of source text. `old` occurs exactly once in its file. */
export type Replacement = { readonly path: string; readonly old: string; readonly new: string }

const REPOSITORY = resolve(import.meta.dirname, '../../..')

export function absolutePath(path: string): string {
  return resolve(REPOSITORY, path)
}

export function sourceOf(path: string): string {
  return readFileSync(absolutePath(path), 'utf8')
}

/**
 * The files as they are after the replacements.
 *
 * @throws Error when a text does not occur exactly once, because the source has changed since.
 */
export function replaced(replacements: readonly Replacement[]): ChangedSource {
  const changed: Record<string, string> = {}
  for (const { path, old, new: text } of replacements) {
    const [before, after, ...more] = (changed[path] ?? sourceOf(path)).split(old)
    if (before === undefined || after === undefined || more.length > 0) {
      throw new Error(
        `${path} must contain this text once, but contains it ${more.length + (after === undefined ? 0 : 1)} times: ${old}`,
      )
    }
    changed[path] = before + text + after
  }
  return changed
}
