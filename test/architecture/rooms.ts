import { posix } from 'node:path'
import { type Import, importsOf, linesOf } from './sources.ts'

/** The rules of rooms as functions of what the files say, so that each can be shown to fail on made-up files. */

/** The text of each file, by its path. */
export type Sources = ReadonlyMap<string, string>

/** Folders with more files directly in them than `most`, or than the folder's own entry in `exceptions`. */
export function crowdedFolders(
  paths: readonly string[],
  most: number,
  exceptions: Readonly<Record<string, number>> = {},
): string[] {
  const byFolder = Map.groupBy(paths, path => posix.dirname(path))
  return [...byFolder].flatMap(([folder, { length }]) => {
    const allowed = exceptions[folder] ?? most
    return length > allowed ? [`${folder} has ${length} files: at most ${allowed}`] : []
  })
}

/**
 * The imports that close a circle of rooms within the folder. A room is a folder in it, or a file that stands directly in it;
 * imports of types count.
 */
export function importsInCircles(folder: string, sources: Sources): string[] {
  const crossing = [...sources].flatMap(([file, text]) =>
    file.startsWith(`${folder}/`) ? importsOf(file, text).filter(one => isCrossing(folder, one)) : [],
  )
  const uses = Map.groupBy(crossing, ({ file }) => roomOf(folder, file))
  const reaches = (from: string, to: string) => {
    const seen = new Set<string>()
    const open = [from]
    for (let room = open.pop(); room !== undefined; room = open.pop()) {
      if (room === to) return true
      if (seen.has(room)) continue
      seen.add(room)
      open.push(...(uses.get(room) ?? []).map(({ target }) => roomOf(folder, target)))
    }
    return false
  }
  return crossing
    .filter(({ file, target }) => reaches(roomOf(folder, target), roomOf(folder, file)))
    .map(({ file, target }) => `${file} imports ${target}`)
}

function isCrossing(folder: string, { file, target, isPackage }: Import): boolean {
  if (isPackage || !target.startsWith(`${folder}/`)) return false
  return roomOf(folder, file) !== roomOf(folder, target)
}

function roomOf(folder: string, path: string): string {
  return path.slice(folder.length + 1).split('/')[0] ?? path
}

/**
 * Files of fewer than `lines` lines that only one file of their own folder imports: they belong into that file. A file that only
 * another folder imports is the interface of its folder. Imports by tests do not count.
 */
export function foldableFiles(sources: Sources, lines: number): string[] {
  const imports = [...sources].flatMap(([file, text]) => (isTest(file) ? [] : importsOf(file, text)))
  const importers = Map.groupBy(imports, ({ target }) => target)
  return [...sources].flatMap(([file, text]) => {
    const by = new Set(importers.get(file)?.map(one => one.file))
    const [only, ...others] = by
    const isAlone = only !== undefined && others.length === 0 && posix.dirname(only) === posix.dirname(file)
    return isAlone && !isTest(file) && linesOf(text) < lines ? [file] : []
  })
}

function isTest(file: string): boolean {
  return file.startsWith('test/')
}
