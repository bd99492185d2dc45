/**
 * The public entry `baton-tasks/cdk`: a task system for your own CDK app. Read `task-system.ts` first: it creates the parts and has
 * the methods that add handlers, workers and flows. Then read `task-table.ts`, `queues/`, and `functions/`, which read and write
 * them. `types/` and `workers/` deploy code of users, `placement/` chooses the stack of each handler, `permissions/` limits
 * the code, and `monitoring/` raises alarms. `bounds.ts` has every number, `settings.ts` every option that all parts share.
 */

export type { ApiAuth, ApiProps, TaskApi } from './api/api.ts'
export type { ClaimsProps } from './api/claims.ts'
export type { BundlingProps } from './bundling/options.ts'
export type { FailureAlarmProps } from './monitoring/alarms.ts'
export type { Grantee } from './permissions/permissions.ts'
export type { GrantProps } from './permissions/type-reach.ts'
export type { AlarmLevel, LogLevel, TracingMode } from './settings.ts'
export type { ReservedConcurrency, TaskSystemProps } from './system-props.ts'
export { TaskSystem } from './task-system.ts'
export type { TableLimits, WarmThroughput } from './task-table.ts'
export type { MetricsScope } from './type-metrics.ts'
export type { FlowProps, FlowRegistration } from './types/flow-registration.ts'
export type { FunctionProps } from './types/function-props.ts'
export type { HandlerFunction, HandlerProps } from './types/handler-function.ts'
export type { GroupedType, HandlerGroup, HandlersProps } from './types/handler-group.ts'
export type { WorkerQueue, WorkerQueueProps } from './types/worker-queue.ts'
export type { WorkerService, WorkerServiceProps } from './workers/workers.ts'
