/** The public entry `baton/infra`: a task system for your own CDK app. */

export type { ApiAuth, ApiProps, TaskApi } from './api/api.ts'
export type { ClaimsProps } from './api/claims.ts'
export type { FailureAlarmProps } from './monitoring/alarms.ts'
export type { Grantee } from './permissions/permissions.ts'
export type { GrantProps } from './permissions/type-reach.ts'
export type { AlarmLevel, LogLevel, MetricsScope, TracingMode } from './settings.ts'
export { type ReservedConcurrency, TaskSystem, type TaskSystemProps } from './task-system.ts'
export type { TableLimits, WarmThroughput } from './task-table.ts'
export type { FlowProps, FlowRegistration } from './types/flow-registration.ts'
export type { HandlerFunction, HandlerProps } from './types/handler-function.ts'
export type { WorkerQueue, WorkerQueueProps } from './types/worker-queue.ts'
export type { WorkerService, WorkerServiceProps } from './workers/workers.ts'
