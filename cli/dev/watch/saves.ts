import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { Project } from '../synthesis/synthesis.ts'
import type { Terminal } from '../terminal.ts'
import { isWithin, type Watching, watchFolders } from './watch.ts'

/** Receives saved files, and the time of the first save (`performance.now()`). */
type Take = (files: ReadonlySet<string>, since: number) => void

/** A watch for files of a project that a developer saves. */
export type Saves = ReturnType<typeof watchSaves>

type Watched = {
  readonly project: Project
  /** The folders that are watched: see `watchedFolders`. */
  readonly folders: readonly string[]
  readonly isLeftOut: Watching['isLeftOut']
  readonly terminal: Pick<Terminal, 'say'>
}

/** Watches a project. It begins before the app starts, because a developer saves during a start, too. */
export function watchSaves({ project, folders, isLeftOut, terminal }: Watched) {
  const early = new Set<string>()
  let earliest = 0
  let take: Take = (files, since) => {
    if (early.size === 0) earliest = since
    for (const file of files) early.add(file)
  }
  const watcher = watchFolders(folders, {
    ignored: ignoredFolders(project),
    isLeftOut,
    onChange: (files, since) => take(files, since),
    onProblem: terminal.say,
  })
  return {
    /** Also watches the folders of these files, except for installed packages. */
    alsoFoldersOf: (files: readonly string[]) => {
      const own = files.filter(file => !file.includes('node_modules'))
      for (const folder of new Set(own.map(dirname))) watcher.also(folder)
    },
    /** Gives all changed files to `take` from now on, and first those that have changed since the watch began. */
    giveTo: (taker: Take) => {
      take = taker
      if (early.size > 0) taker(early, earliest)
    },
    stop: watcher.stop,
  }
}

/** Folders with generated or installed files, by their names. Names that begin with a dot are left out, too. */
const GENERATED = ['node_modules', 'dist', 'cdk.out', 'coverage']

/** The names of folders that are not watched. What the app's command itself names is watched, such as the `dist` in `node dist/app.js`. */
export function ignoredFolders({ app }: Project): Set<string> {
  const named = new Set(app.split(/[\s/\\]+/))
  return new Set(GENERATED.filter(name => name === 'node_modules' || !named.has(name)))
}

/** The project's folder, and the folders of packages that are linked into it, such as packages of its workspace. */
export function watchedFolders(folder: string): string[] {
  const found = new Set<string>()
  const visit = (place: string) => {
    if ([...found].some(other => isWithin(place, other))) return
    found.add(place)
    for (const name of dependenciesOf(place)) {
      const linked = linkedFolder(place, name)
      if (linked !== undefined) visit(linked)
    }
  }
  visit(realpathSync(folder))
  return [...found]
}

type Manifest = Readonly<
  Partial<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>
>

function dependenciesOf(folder: string): string[] {
  const file = join(folder, 'package.json')
  if (!existsSync(file)) return []
  try {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(file, 'utf8')) as Manifest
    return Object.keys({ ...dependencies, ...devDependencies })
  } catch {
    return []
  }
}

/** The folder of a package that is linked and not installed. */
function linkedFolder(from: string, name: string): string | undefined {
  for (let place = from; place !== dirname(place); place = dirname(place)) {
    const link = join(place, 'node_modules', name)
    if (!existsSync(link)) continue
    const target = realpathSync(link)
    return target.split(sep).includes('node_modules') ? undefined : target
  }
  return undefined
}

/** Decides when changed files are bundled and when the app is synthesised, so that each happens once at a time and misses no change. */

export type Reloading = {
  /** Brings changed files, the first of which was saved at `since`, to the handlers that contain them. */
  rebuild(files: ReadonlySet<string>, since: number): Promise<void>
  /** Runs the app again and deploys what has changed since the same save. */
  resynthesise(since: number): Promise<void>
  /** Receives what one of the two has thrown. The next change is handled as usual. */
  onProblem(error: unknown): void
}

/**
 * Handlers come first: their bundles and processes take some 300 ms, a synthesis takes seconds of processor time. Both run at the same
 * time when files change during a synthesis.
 */
export function createReloader({ rebuild, resynthesise, onProblem }: Reloading) {
  let files = new Set<string>()
  const synthesis = oneAtATime(resynthesise, onProblem)
  const bundling = oneAtATime(async since => {
    const taken = files
    files = new Set()
    await rebuild(taken, since).finally(() => synthesis.ask(since))
  }, onProblem)
  return {
    changed: (changed: ReadonlySet<string>, since: number) => {
      for (const file of changed) files.add(file)
      bundling.ask(since)
    },
    /** Resolves when all changes so far have been taken over. */
    idle: async () => {
      await bundling.idle()
      await synthesis.idle()
    },
  }
}

/**
 * Runs `work` once after each time that it is requested, never twice at the same time. Several requests may share a run, which gets
 * the time of the first.
 */
function oneAtATime(work: (since: number) => Promise<void>, onProblem: (error: unknown) => void) {
  let requested: number | undefined
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    while (requested !== undefined) {
      const since = requested
      requested = undefined
      await work(since).catch(onProblem)
    }
    running = undefined
  }

  return {
    ask: (since: number) => {
      requested ??= since
      running ??= run()
    },
    idle: async () => {
      while (running) await running
    },
  }
}
