/** The public API of Baton. What is not exported here may change without notice. */
export { createClient } from './client/client.ts'
export { ProblemError } from './client/problem-error.ts'
export { BatonError, type ErrorCode, type FieldProblem } from './core/errors.ts'
export type { Json } from './core/json.ts'
export type { Backoff, Options, PartialOptions, Retry } from './core/options.ts'
export type { Status } from './core/status.ts'
export { defineTask, type TaskContext, type TaskDefinition } from './define-task.ts'
export { Fatal, Release, RetryLater } from './signals.ts'
