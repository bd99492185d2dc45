import type { Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import type { ErrorCode, Json } from '../../core/values/values.ts'
import type { ChildPublication, RunContext } from '../../define/definitions.ts'
import type { Log, LogFields } from '../../ports/machine.ts'

/** The file descriptor of the lifeline, which closes when the worker dies, so that the process of a run notices the death. */
export const LIFELINE_FD = 4

/** The members of a handler's context that are plain data and can be sent to the process. */
export type PlainContext = Omit<RunContext, 'signal' | 'progress' | 'next' | 'publish' | 'log'>

export type ToProcess =
  | { readonly kind: 'run'; readonly input: Json | undefined; readonly context: PlainContext }
  | { readonly kind: 'abort'; readonly reason: string }
  | { readonly kind: 'published'; readonly call: number; readonly answer: PublishAnswer }

export type PublishAnswer =
  | { readonly ok: true; readonly id: string; readonly created: boolean }
  | { readonly ok: false; readonly error: TaskError; readonly code?: ErrorCode }

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
