import type { Reporter, TestModule } from 'vitest/node'

const SHOWN_MAX = 10

/** Prints the files that took longest at the end of a run: the first place to look when `npm test` grows slow. */
export const slowestFiles: Reporter = {
  onTestRunEnd: modules => {
    if (modules.length <= SHOWN_MAX) return
    const slowest = modules
      .map(module => ({ name: `${module.project.name} ${module.relativeModuleId}`, ms: durationOf(module) }))
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, SHOWN_MAX)
    console.log('\nSlowest files, in seconds:')
    for (const { name, ms } of slowest) console.log(`${(ms / 1_000).toFixed(1).padStart(7)}  ${name}`)
  },
}

/** The time that a file's imports, hooks and tests took. */
function durationOf(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  return collectDuration + setupDuration + duration
}
