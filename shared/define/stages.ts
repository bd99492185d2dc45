import type { StandardSchemaV1 } from '@standard-schema/spec'
import { BatonError } from '../core/errors.ts'
import { Fatal, type Next, type Release } from '../signals.ts'
import type { TaskContext } from './task-context.ts'

/** Handlers by the names of their stages, typed by the task's schema; the first one begins. */
export type StageHandlers<Names extends string, Schema extends StandardSchemaV1> = {
  readonly [Name in Names]: (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: TaskContext<NoInfer<Names>, StandardSchemaV1.InferInput<Schema>>,
  ) => unknown
}

/** What a task with these stages comes to: whatever one of them returns that does not move it on. */
export type StagedOutput<Stages> = {
  [Name in keyof Stages]: Stages[Name] extends (...given: never) => infer Returned
    ? Exclude<Awaited<Returned>, Next | Release>
    : never
}[keyof Stages]

const MAX_NAME_LENGTH = 100

type Handler = (input: never, context: TaskContext) => unknown

/**
 * One handler made of the handlers of stages: each run is served by that of the task's stage, without one by the first.
 *
 * @throws BatonError `invalid` when there are no stages, or one has no name that a stage can have.
 */
export function runStages(type: string, stages: Readonly<Record<string, Handler>>): Handler {
  const names = Object.keys(stages)
  refuseNames(type, names)
  const known = (stage: string) => {
    if (Object.hasOwn(stages, stage)) return stage
    throw new Fatal(`${type} has no stage '${stage}'; its stages are ${names.join(', ')}`)
  }
  return (input, context) => {
    const handler = stages[known(context.stage ?? names[0] ?? '')] as Handler
    return handler(input, { ...context, next: (stage, options) => context.next(known(stage), options) })
  }
}

function refuseNames(type: string, names: readonly string[]): void {
  if (names.length === 0) {
    throw new BatonError('invalid', `${type}: 'stages' is empty; give at least one, the first begins`)
  }
  const wrong = names.find(name => name === '' || name.length > MAX_NAME_LENGTH || isIndex(name))
  if (wrong === undefined) return
  const legal = `give 1–${MAX_NAME_LENGTH} characters that are no whole number`
  throw new BatonError('invalid', `${type}: 'stages' has '${wrong}', which is no name of a stage; ${legal}`)
}

/** JavaScript puts such names first, whatever was written first. */
function isIndex(name: string): boolean {
  return /^\d+$/.test(name)
}
