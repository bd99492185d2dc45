/** The public entry `baton/infra`: a task system for your own CDK app. */
export type { FlowProps, FlowRegistration } from './flow-registration.ts'
export type { HandlerFunction, HandlerProps } from './handler-function.ts'
export type { LogLevel } from './settings.ts'
export type { ApiAuth, TaskApi } from './task-api.ts'
export { type ReservedConcurrency, TaskSystem, type TaskSystemProps } from './task-system.ts'
export type { TableLimits } from './task-table.ts'
export type { WorkerQueue, WorkerQueueProps } from './worker-queue.ts'
export type { WorkerService, WorkerServiceProps } from './worker-service.ts'
