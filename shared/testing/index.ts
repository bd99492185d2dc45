/**
 * The testing kit, `baton-tasks/testing`. `runTask` runs one handler once. `createTestSystem` runs whole tasks, flows and
 * canvases in virtual time, on the same core and runtime that run deployed. It needs no test runner of its own: vitest,
 * node:test and jest (ESM) all work.
 *
 * Read in this order: `create-test-system.ts`, `system/test-system.ts` (what a test can do), `world/world.ts` (how it runs),
 * `system/deployed-system.ts` (the same against a URL) and `run-task.ts`. The table in memory (`table/`) also serves the simulation and the unit
 * tests of this repository. Everything that is not exported here may change without notice.
 */
export { createTestSystem, type EitherSettings } from './create-test-system.ts'
export { type RunTaskOptions, runTask, type TaskRun } from './run-task.ts'
export type { DeployedSettings } from './system/deployed-system.ts'
export type {
  ClaimedRun,
  ClaimOptions,
  DeployedTestSystem,
  Duration,
  LimitState,
  LogLine,
  MemorySettings,
  SystemUnderTest,
  TaskFilter,
  TestSystem,
  TypeName,
  WorkerFault,
} from './system/test-system.ts'
