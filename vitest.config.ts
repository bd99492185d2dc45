import { configDefaults, defineConfig } from 'vitest/config'
import { LongFilesFirst } from './test/support/long-files-first.ts'
import { slowestFiles } from './test/support/slowest-files.ts'

/** Slow and large tests, run by `npm run test:slow`. */
const SLOW = ['test/**/*.slow.test.ts']

/** The benchmark. It runs alone on the machine, and asserts nothing about speed. */
const BENCH = ['bench/**/*.test.ts']

/** A wait ends by its condition. It fails after this time, which says nothing about speed. */
const PATIENCE_MS = 120_000

/** Thousands of simulated runs on all cores, at the same time as the other tests. */
const SIMULATION = ['test/simulation/seeds.test.ts']

/** Tests on the whole local system. */
const ON_THE_SYSTEM = ['test/system/**/*.test.ts', 'test/web/**/*.test.ts']

/** The set-up of tests on the whole local system: its template is synthesised once for all of them. */
const onTheSystem = {
  globalSetup: ['test/support/dynamo/one-dynamodb.ts', 'test/system/synthesise.ts'],
}

const but = (...patterns: string[]) => [...configDefaults.exclude, ...patterns]

export default defineConfig({
  test: {
    globalSetup: ['test/support/scratch-folder.ts', 'test/support/dynamo/one-dynamodb.ts'],
    reporters: ['default', slowestFiles],
    testTimeout: 2 * PATIENCE_MS,
    hookTimeout: 2 * PATIENCE_MS,
    teardownTimeout: PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    // Files in one process share their imports, which took a fifth of the time. The tests create all their state.
    isolate: false,
    // More than the cores: one has the simulation, and the files of a system wait half of their time.
    maxWorkers: 4,
    sequence: { sequencer: LongFilesFirst },
    env: {
      // Validation takes a third of a synthesis. test/infra/functions/bundles.slow.test.ts validates the shipped app.
      CDK_VALIDATION: 'false',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: but(...ON_THE_SYSTEM, ...SIMULATION, ...SLOW),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ON_THE_SYSTEM,
          exclude: but(...SLOW),
          sequence: { groupOrder: 0 },
          ...onTheSystem,
        },
      },
      {
        extends: true,
        test: { name: 'simulation', include: SIMULATION, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: SLOW,
          sequence: { groupOrder: 0 },
          ...onTheSystem,
        },
      },
      {
        extends: true,
        test: {
          name: 'bench',
          include: BENCH,
          fileParallelism: false,
          maxWorkers: 1,
          sequence: { groupOrder: 0 },
          ...onTheSystem,
        },
      },
    ],
  },
})
