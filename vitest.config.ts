import { defineConfig } from 'vitest/config'

/** Tests that hold single waits to a few dozen milliseconds; they have the machine to themselves. */
const TIMED = ['test/system/{reliability,cost}.test.ts']

const onTheSystem = { globalSetup: ['test/system/synthesise.ts'] }

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: TIMED,
          sequence: { groupOrder: 1 },
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
