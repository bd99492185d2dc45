/** The public entry `baton/infra`: a task system for your own CDK app. */

export type { FailureAlarmProps } from './alarms.ts'
export type { ClaimsProps } from './claims.ts'
export type { FlowProps, FlowRegistration } from './flow-registration.ts'
export type { Runner } from './grants.ts'
export type { HandlerFunction, HandlerProps } from './handler-function.ts'
export type { AlarmLevel, LogLevel, MetricsScope, TracingMode } from './settings.ts'
export type { ApiAuth, ApiProps, TaskApi } from './task-api.ts'
export { type ReservedConcurrency, TaskSystem, type TaskSystemProps } from './task-system.ts'
export type { TableLimits, WarmThroughput } from './task-table.ts'
export type { GrantProps } from './type-reach.ts'
export type { WorkerQueue, WorkerQueueProps } from './worker-queue.ts'
export type { WorkerService, WorkerServiceProps } from './worker-service.ts'
