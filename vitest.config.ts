import { configDefaults, defineConfig } from 'vitest/config'
import { slowestFiles } from './test/support/slowest-files.ts'

/** Slow and large tests, run by `npm run test:slow`. */
const SLOW = ['test/**/*.slow.test.ts']

/** The benchmark, which has the machine to itself. It measures, and asserts nothing about speed. */
const BENCH = ['bench/**/*.test.ts']

/** A wait ends by its condition. It fails after this time, which is no claim about speed. */
const PATIENCE_MS = 120_000

/** Thousands of simulated runs on all cores; those threads let everything else go first. */
const SIMULATION = ['test/simulation/{seeds,nightly}.test.ts']

/** The whole system runs locally, from the template that is synthesised once for all of these tests. */
const onTheSystem = {
  globalSetup: [
    'test/support/direct-npx.ts',
    'test/support/dynamo/one-dynamodb.ts',
    'test/system/synthesise.ts',
  ],
}

const but = (...patterns: string[]) => [...configDefaults.exclude, ...patterns]

export default defineConfig({
  test: {
    globalSetup: [
      'test/support/scratch-folder.ts',
      'test/support/direct-npx.ts',
      'test/support/dynamo/one-dynamodb.ts',
    ],
    reporters: ['default', slowestFiles],
    testTimeout: 2 * PATIENCE_MS,
    hookTimeout: 2 * PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
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
