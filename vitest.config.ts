import { defineConfig } from 'vitest/config'

/** Tests that hold single waits to a few dozen milliseconds; they have the machine to themselves. */
const TIMED = ['test/system/{timing,chord}.test.ts']

/** Thousands of simulated runs on all cores; those threads let everything else go first. */
const SIMULATION = ['test/simulation/{seeds,planted}.test.ts']

/** Waits for a lease to end, with the processors to itself but for the simulation. */
const TAKEOVER = ['test/system/takeover.test.ts']

/** Tests of many minutes at full size; none of the projects here runs them. */
const SLOW = 'test/**/*.slow.test.ts'

const onTheSystem = { globalSetup: ['test/support/one-dynamodb.ts', 'test/system/synthesise.ts'] }

export default defineConfig({
  test: {
    globalSetup: ['test/support/scratch-folder.ts', 'test/support/one-dynamodb.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Files that run in one process share their imports, which took a fifth of the time; all state is made by the tests.
    isolate: false,
    maxWorkers: 3,
    env: {
      // A third of a synthesis; the shipped app is validated where test/infra/bundles.test.ts synthesises it.
      CDK_VALIDATION: 'false',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**', ...SIMULATION, SLOW],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: [...TIMED, ...TAKEOVER, SLOW],
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
          sequence: { groupOrder: 1 },
          ...onTheSystem,
        },
      },
      {
        extends: true,
        test: {
          name: 'simulation',
          include: SIMULATION,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'takeover',
          include: TAKEOVER,
          sequence: { groupOrder: 2 },
          ...onTheSystem,
        },
      },
    ],
  },
})
