import { statSync } from 'node:fs'

/** The times and sizes of files, by their paths. They tell whether a result that was made from the files is still true. */
export type Stamps = ReadonlyMap<string, string>

export function stampsOf(paths: readonly string[]): Stamps {
  return new Map(paths.map(path => [path, stampOf(path)]))
}

export function isUnchanged(stamps: Stamps): boolean {
  return [...stamps].every(([path, stamp]) => stampOf(path) === stamp)
}

function stampOf(path: string): string {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: -1 }
  return `${mtimeMs} ${size}`
}
