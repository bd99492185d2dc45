/**
 * Watches folders for changed files, with one `fs.watch` for each folder.
 *
 * Node's recursive watch does not suit Linux: it takes a watch for each file, also below `node_modules`, and has no way to leave a
 * folder out. Watching folders one by one costs some 100 µs and one inotify watch each, sees editors that replace a file by
 * renaming, and needs no package. A file counts as changed when its content has: editors and tools often only touch it. A watch stays
 * with its folder when that is removed, so a folder that is removed and made again, as a switch of branches does, is watched again.
 */

import { createHash } from 'node:crypto'
import { type Dirent, type FSWatcher, readdirSync, readFileSync, statSync, watch } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'

export type Watching = {
  /** The names of folders that are left out wherever they are. */
  readonly ignored: ReadonlySet<string>
  /** Whether a further folder is left out, by its path. A folder that is watched may be left out later. */
  readonly isLeftOut?: ((folder: string) => boolean) | undefined
  /** Receives the changed files of a burst, and when it began (`performance.now()`). */
  onChange(files: ReadonlySet<string>, since: number): void
  onProblem(message: string): void
}

/** A burst of changes ends after this time without another one. A save is two or three events. */
const QUIET_MS = 25
/** A burst is reported after this time even if it continues. */
const BURST_MS_MAX = 250

/** Files that editors and tools write next to the file that they save. */
const TEMPORARY = /^(?:\.#.*|#.*#|4913|.*~|.*\.(?:sw[a-z]|tmp|log|tsbuildinfo))$/

type State = {
  readonly watching: Watching
  readonly watchers: Map<string, FSWatcher>
  /** The folders that are watched by name, each with whether the folders in it are watched, too. */
  readonly roots: Map<string, boolean>
  readonly guards: ReturnType<typeof createGuards>
  readonly contents: ReturnType<typeof rememberContents>
  readonly burst: ReturnType<typeof collectBursts>
  isStopped: boolean
}

export function watchFolders(folders: readonly string[], watching: Watching) {
  const contents = rememberContents()
  const burst = collectBursts((files, since) => {
    const watched = [...files].filter(file => !watching.isLeftOut?.(dirname(file)))
    const changed = new Set(watched.filter(contents.hasChanged))
    if (changed.size > 0) watching.onChange(changed, since)
  })
  const guards = createGuards(root => look(state, root, false))
  const state: State = {
    ...{ watching, guards, contents, burst },
    ...{ watchers: new Map(), roots: new Map(), isStopped: false },
  }
  for (const folder of folders) addRoot(state, folder, true)
  return {
    /** Watches one more folder, without the folders in it. */
    also: (folder: string) => addRoot(state, folder, false),
    stop: () => {
      state.isStopped = true
      burst.stop()
      for (const folder of [...state.watchers.keys()]) remove(state, folder)
      guards.stop()
    },
  }
}

function addRoot(state: State, root: string, isDeep: boolean): void {
  const { watchers, roots, guards, isStopped } = state
  if (isStopped || watchers.has(root)) return
  roots.set(root, isDeep)
  add(state, root, false, isDeep)
  if (!watchers.has(dirname(root))) guards.add(root)
}

function add(state: State, folder: string, isNew: boolean, isDeep: boolean): void {
  const { watchers, watching } = state
  if (watchers.has(folder)) return
  try {
    const watcher = watch(folder, (_event, name) => {
      if (watching.isLeftOut?.(folder)) remove(state, folder)
      else if (name !== null) look(state, join(folder, name), isDeep)
    })
    watcher.on('error', () => remove(state, folder))
    watchers.set(folder, watcher)
    const entries = readdirSync(folder, { withFileTypes: true })
    for (const entry of entries) meet(state, join(folder, entry.name), entry, isNew, isDeep)
  } catch (cause) {
    if (isGone(cause)) remove(state, folder)
    else watching.onProblem(`changes in ${folder} are not seen: ${(cause as Error).message}`)
  }
}

/** Files of a folder that has just been created are changes. The others are only known from now on. */
function meet(state: State, path: string, entry: Dirent, isNew: boolean, isDeep: boolean): void {
  if (entry.isDirectory() && isDeep && isWanted(state, path)) add(state, path, isNew, isDeep)
  if (entry.isFile() && isNew) state.burst.add(path)
  if (entry.isFile() && !isNew) state.contents.know(path)
}

function look(state: State, path: string, isDeep: boolean): void {
  if (TEMPORARY.test(basename(path))) return
  forget(state, path)
  if (!isFolder(path)) state.burst.add(path)
  else if (isDeep && isWanted(state, path)) add(state, path, true, isDeep)
  for (const [root, isRootDeep] of state.roots) if (isWithin(root, path)) add(state, root, true, isRootDeep)
}

/**
 * An event that names a watched folder means that the folder was removed or replaced. Its watch has stayed with what stood there
 * before, and would see no further save. Its files may be gone, or be others.
 */
function forget(state: State, path: string): void {
  const { watchers, contents, burst } = state
  if (!watchers.has(path)) return
  for (const folder of [...watchers.keys()]) if (isWithin(folder, path)) remove(state, folder)
  for (const file of contents.files()) if (isWithin(file, path)) burst.add(file)
}

function remove({ watchers }: State, folder: string): void {
  watchers.get(folder)?.close()
  watchers.delete(folder)
}

function isWanted({ watching }: State, folder: string): boolean {
  const name = basename(folder)
  return !name.startsWith('.') && !watching.ignored.has(name) && !watching.isLeftOut?.(folder)
}

/** Watches the parents of folders, because only the parent's watch sees that a folder is replaced. */
function createGuards(onReplaced: (folder: string) => void) {
  const guards = new Map<string, FSWatcher>()
  return {
    add: (folder: string) => {
      if (guards.has(folder)) return
      try {
        const guard = watch(dirname(folder), (_event, name) => {
          if (name === basename(folder)) onReplaced(folder)
        })
        guards.set(folder, guard)
        guard.on('error', () => guard.close())
      } catch {
        // The parent cannot be read. Saves in the folder are still noticed.
      }
    },
    stop: () => {
      for (const guard of guards.values()) guard.close()
    },
  }
}

function collectBursts(report: (files: ReadonlySet<string>, since: number) => void) {
  let files = new Set<string>()
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function end(): void {
    const ended = files
    files = new Set()
    report(ended, since)
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
    files: () => known.keys(),
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

/** Whether a path is the folder, or is in it. */
export function isWithin(place: string, folder: string): boolean {
  return place === folder || place.startsWith(folder + sep)
}
