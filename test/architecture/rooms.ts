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
  return closing(importsWithin(folder, sources), path => roomOf(folder, path))
}

/** The imports that close a circle of files within the folder. Imports of types count. */
export function fileImportsInCircles(folder: string, sources: Sources): string[] {
  return closing(importsWithin(folder, sources), path => path)
}

function importsWithin(folder: string, sources: Sources): Import[] {
  return [...sources].flatMap(([file, text]) =>
    file.startsWith(`${folder}/`)
      ? importsOf(file, text).filter(one => !one.isPackage && one.target.startsWith(`${folder}/`))
      : [],
  )
}

/** The imports from one unit to another that close a circle of units. */
function closing(imports: readonly Import[], unitOf: (path: string) => string): string[] {
  const crossing = imports.filter(({ file, target }) => unitOf(file) !== unitOf(target))
  const uses = Map.groupBy(crossing, ({ file }) => unitOf(file))
  const reaches = (from: string, to: string) => {
    const seen = new Set<string>()
    const open = [from]
    for (let unit = open.pop(); unit !== undefined; unit = open.pop()) {
      if (unit === to) return true
      if (seen.has(unit)) continue
      seen.add(unit)
      open.push(...(uses.get(unit) ?? []).map(({ target }) => unitOf(target)))
    }
    return false
  }
  return crossing
    .filter(({ file, target }) => reaches(unitOf(target), unitOf(file)))
    .map(({ file, target }) => `${file} imports ${target}`)
}

/** The imports by which a file of the kernel names a file of a feature. */
export function importsOfFeatures(
  kernel: readonly string[],
  features: readonly string[],
  sources: Sources,
): string[] {
  const isIn = (rooms: readonly string[], path: string) =>
    rooms.some(room => path === `${room}.ts` || path.startsWith(`${room}/`))
  return [...sources]
    .filter(([file]) => isIn(kernel, file))
    .flatMap(([file, text]) => importsOf(file, text))
    .filter(({ target }) => isIn(features, target))
    .map(({ file, target }) => `${file} imports ${target}`)
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
