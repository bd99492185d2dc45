import type { ErrorCode } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task/task.ts'
import type { ChildPublication, TaskContext } from '../../define/task-context.ts'
import type { Log, LogFields } from '../../ports/machine.ts'

/** The file descriptor by which the process of a run knows that its worker is there. */
export const LIFELINE_FD = 4

/** What of a handler's context is plain data, and crosses to the process as it is. */
export type PlainContext = Omit<TaskContext, 'signal' | 'progress' | 'next' | 'publish' | 'log'>

/** What the worker tells the process of a run. */
export type ToProcess =
  | { readonly kind: 'run'; readonly input: unknown; readonly context: PlainContext }
  | { readonly kind: 'abort'; readonly reason: string }
  | { readonly kind: 'published'; readonly call: number; readonly answer: PublishAnswer }

export type PublishAnswer =
  | { readonly ok: true; readonly id: string; readonly created: boolean }
  | { readonly ok: false; readonly error: TaskError; readonly code?: ErrorCode }

/** What the process of a run tells the worker. */
export type FromProcess =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'progress'; readonly value: Json }
  | { readonly kind: 'publish'; readonly call: number; readonly publication: ChildPublication }
  | {
      readonly kind: 'log'
      readonly level: keyof Log
      readonly message: string
      readonly fields: LogFields | undefined
    }
