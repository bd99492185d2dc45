/** Decides when changed files are bundled and when the app is synthesised, so that each happens once at a time and misses no change. */

export type Reloading = {
  /** Brings changed files to the handlers that contain them. */
  rebuild(files: ReadonlySet<string>): Promise<void>
  /** Runs the app again and deploys what has changed. */
  resynthesise(): Promise<void>
  /** Receives what one of the two has thrown. The next change is taken over all the same. */
  onProblem(error: unknown): void
}

export type Reloader = {
  changed(files: ReadonlySet<string>): void
  /** Resolves when all changes so far have been taken over. */
  idle(): Promise<void>
}

/**
 * Handlers come first: their bundles take some 50 ms, a synthesis takes seconds of processor time. Both go on at the same time when
 * files change during a synthesis.
 */
export function createReloader({ rebuild, resynthesise, onProblem }: Reloading): Reloader {
  let files = new Set<string>()
  const synthesis = oneAtATime(resynthesise, onProblem)
  const bundling = oneAtATime(async () => {
    const taken = files
    files = new Set()
    await rebuild(taken).finally(synthesis.ask)
  }, onProblem)
  return {
    changed: changed => {
      for (const file of changed) files.add(file)
      bundling.ask()
    },
    idle: async () => {
      await bundling.idle()
      await synthesis.idle()
    },
  }
}

/** Runs `work` once after each time that it is asked for, never twice at the same time. Several demands may share a run. */
function oneAtATime(work: () => Promise<void>, onProblem: (error: unknown) => void) {
  let isAsked = false
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    while (isAsked) {
      isAsked = false
      await work().catch(onProblem)
    }
    running = undefined
  }

  return {
    ask: () => {
      isAsked = true
      running ??= run()
    },
    idle: async () => {
      while (running) await running
    },
  }
}
