/**
 * The public entry `baton-tasks/cdk`: a task system for your own CDK app. Read `task-system.ts` first: it creates the parts and has the
 * methods that add handlers, workers and flows. Then read `task-table.ts`, `queues.ts`, and `functions/`, which read and write them.
 * `types/` and `workers/` deploy code of users, `placement.ts` chooses the stack of each handler, `permissions/` limits the code, and
 * `alarms.ts` raises alarms. `bounds.ts` has the numbers that several constructs share, `settings.ts` every option that all parts share.
 */

export type { FailureAlarmProps } from './alarms.ts'
export type { BundlingProps } from './bundling/esbuild.ts'
export type { ApiAuth, ApiProps, ClaimsProps, TaskApi } from './functions/api.ts'
export type { Grantee } from './permissions/permissions.ts'
export type { GrantProps } from './permissions/table-access.ts'
export type { AlarmLevel, LogLevel, MetricsScope, TracingMode } from './settings.ts'
export type { ReservedConcurrency, TaskSystemProps } from './system-props.ts'
export { TaskSystem } from './task-system.ts'
export type { TableLimits, WarmThroughput } from './task-table.ts'
export type { FunctionProps } from './types/function-rules.ts'
export type {
  GroupedType,
  HandlerFunction,
  HandlerGroup,
  HandlerProps,
  HandlersProps,
} from './types/handlers.ts'
export type { FlowProps, FlowRegistration, WorkerQueue, WorkerQueueProps } from './types/types.ts'
export type { WorkerService, WorkerServiceProps } from './workers/workers.ts'
