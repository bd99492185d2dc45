import { dirname } from 'node:path'
import type { Project } from '../synthesis/project.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type Watching, watchFolders } from './watch.ts'
import { ignoredFolders } from './watched-folders.ts'

/** What a developer saves in the files of a project. */
export type Saves = {
  /** Also watches the folders of these files, except for installed packages. */
  alsoBeside(files: readonly string[]): void
  /** Gives all changed files to `take` from now on, and first those that have changed since the watch began. */
  giveTo(take: (files: ReadonlySet<string>) => void): void
  stop(): void
}

type Watched = {
  readonly project: Project
  /** The folders that are watched: see `watchedFolders`. */
  readonly folders: readonly string[]
  readonly isLeftOut: Watching['isLeftOut']
  readonly terminal: Pick<Terminal, 'say'>
}

/** Watches a project. It begins before the app starts, because a developer saves during a start, too. */
export function watchSaves({ project, folders, isLeftOut, terminal }: Watched): Saves {
  const early = new Set<string>()
  let take = (files: ReadonlySet<string>) => {
    for (const file of files) early.add(file)
  }
  const watcher = watchFolders(folders, {
    ignored: ignoredFolders(project),
    isLeftOut,
    onChange: files => take(files),
    onProblem: terminal.say,
  })
  return {
    alsoBeside: files => {
      const own = files.filter(file => !file.includes('node_modules'))
      for (const folder of new Set(own.map(dirname))) watcher.also(folder)
    },
    giveTo: taker => {
      take = taker
      if (early.size > 0) taker(early)
    },
    stop: watcher.stop,
  }
}
