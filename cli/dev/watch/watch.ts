/**
 * Watches folders for changed files, with one `fs.watch` for each folder.
 *
 * Node's recursive watch is no choice on Linux: it takes a watch for each file, also below `node_modules`, and has no way to leave a
 * folder out. Watching folders one by one costs some 100 µs and one inotify watch each, sees editors that replace a file by
 * renaming, and needs no package. A file counts as changed when its content has: editors and tools often only touch it.
 */

import { createHash } from 'node:crypto'
import { type Dirent, type FSWatcher, readdirSync, readFileSync, statSync, watch } from 'node:fs'
import { basename, join } from 'node:path'

export type Watcher = {
  /** Watches one more folder, without the folders in it. */
  also(folder: string): void
  stop(): void
}

export type Watching = {
  /** The names of folders that are left out wherever they stand. */
  readonly ignored: ReadonlySet<string>
  /** Whether a further folder is left out, by its path. */
  isLeftOut?(folder: string): boolean
  /** Receives the changed files of a burst. */
  onChange(files: ReadonlySet<string>): void
  /** Receives why a folder cannot be watched. */
  onProblem(message: string): void
}

/** A burst of changes ends after this time without another one. A save is two or three events. */
const QUIET_MS = 25
/** A burst is reported after this time even if it goes on. */
const BURST_MS_MAX = 250

/** Files that editors and tools write beside the file that they save. */
const TEMPORARY = /^(?:\.#.*|#.*#|4913|.*~|.*\.(?:sw[a-z]|tmp|log|tsbuildinfo))$/

export function watchFolders(folders: readonly string[], watching: Watching): Watcher {
  const watchers = new Map<string, FSWatcher>()
  const contents = rememberContents()
  const burst = collectBursts(files => {
    const changed = new Set([...files].filter(contents.hasChanged))
    if (changed.size > 0) watching.onChange(changed)
  })

  function add(folder: string, isNew: boolean, isDeep: boolean): void {
    if (watchers.has(folder)) return
    try {
      const watcher = watch(folder, (_event, name) => name !== null && look(join(folder, name), isDeep))
      watcher.on('error', () => remove(folder))
      watchers.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) meet(folder, entry, isNew, isDeep)
    } catch (cause) {
      if (isGone(cause)) remove(folder)
      else watching.onProblem(`changes in ${folder} are not seen: ${(cause as Error).message}`)
    }
  }

  /** Files of a folder that has just been created are changes. The others are only known from now on. */
  function meet(folder: string, entry: Dirent, isNew: boolean, isDeep: boolean): void {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && isDeep && isWanted(path)) add(path, isNew, isDeep)
    if (entry.isFile() && isNew) look(path, false)
    if (entry.isFile() && !isNew) contents.know(path)
  }

  function look(path: string, isDeep: boolean): void {
    if (TEMPORARY.test(basename(path))) return
    if (!isFolder(path)) burst.add(path)
    else if (isDeep && isWanted(path)) add(path, true, isDeep)
  }

  function remove(folder: string): void {
    watchers.get(folder)?.close()
    watchers.delete(folder)
  }

  function isWanted(folder: string): boolean {
    const name = basename(folder)
    return !name.startsWith('.') && !watching.ignored.has(name) && !watching.isLeftOut?.(folder)
  }

  for (const folder of folders) add(folder, false, true)
  return {
    also: folder => add(folder, false, false),
    stop: () => {
      burst.stop()
      for (const folder of [...watchers.keys()]) remove(folder)
    },
  }
}

function collectBursts(report: (files: ReadonlySet<string>) => void) {
  let files = new Set<string>()
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function end(): void {
    const ended = files
    files = new Set()
    report(ended)
  }

  return {
    add: (file: string) => {
      if (files.size === 0) since = performance.now()
      files.add(file)
      clearTimeout(timer)
      const leftMs = BURST_MS_MAX - (performance.now() - since)
      timer = setTimeout(end, Math.max(0, Math.min(QUIET_MS, leftMs)))
    },
    stop: () => clearTimeout(timer),
  }
}

const GONE = 'gone'
const UNREAD = 'unread'

/** Knows each file by its content. The content of a file is read at its first event; until then only its existence is known. */
function rememberContents() {
  const known = new Map<string, string>()
  return {
    know: (file: string) => void known.set(file, UNREAD),
    hasChanged: (file: string) => {
      const before = known.get(file) ?? GONE
      const now = digestOf(file)
      known.set(file, now)
      return now !== before
    },
  }
}

function digestOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64')
  } catch {
    return GONE
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function isGone(cause: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')
}
