import { configDefaults, defineConfig } from 'vitest/config'

/** Slow and large tests, run by `npm run test:slow`. */
const SLOW = ['test/**/*.slow.test.ts']

/** Of the slow ones, those that are about speed: each has the machine to itself. */
const TIMED = ['test/system/{schedules/timing,canvases/chord,workers/takeover}.slow.test.ts']

/** Thousands of simulated runs on all cores; those threads let everything else go first. */
const SIMULATION = ['test/simulation/{seeds,nightly}.test.ts']

/** The whole system runs locally, from the template that is synthesised once for all of these tests. */
const onTheSystem = { globalSetup: ['test/support/dynamo/one-dynamodb.ts', 'test/system/synthesise.ts'] }

const but = (...patterns: string[]) => [...configDefaults.exclude, ...patterns]

export default defineConfig({
  test: {
    globalSetup: ['test/support/scratch-folder.ts', 'test/support/dynamo/one-dynamodb.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Files that run in one process share their imports, which took a fifth of the time; all state is made by the tests.
    isolate: false,
    maxWorkers: 3,
    env: {
      // A third of a synthesis; the shipped app is validated where test/infra/functions/bundles.test.ts synthesises it.
      CDK_VALIDATION: 'false',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: but('test/system/**', ...SIMULATION, ...SLOW),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: but(...SLOW),
          sequence: { groupOrder: 0 },
          ...onTheSystem,
        },
      },
      {
        extends: true,
        test: { name: 'simulation', include: SIMULATION, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: SLOW,
          exclude: but(...TIMED),
          testTimeout: 120_000,
          sequence: { groupOrder: 0 },
          ...onTheSystem,
        },
      },
      {
        extends: true,
        test: {
          name: 'timed',
          include: TIMED,
          fileParallelism: false,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          ...onTheSystem,
        },
      },
    ],
  },
})
