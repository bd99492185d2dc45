import type { StandardSchemaV1 } from '@standard-schema/spec'
import { BatonError } from '../core/errors.ts'
import { Fatal, type Next, type Release } from '../signals.ts'
import type { TaskContext } from './definitions.ts'

/** The handlers of a task's stages by name. A task begins in the first stage. */
export type StageHandlers<
  Names extends string,
  Schema extends StandardSchemaV1,
  PreviousSchema extends StandardSchemaV1,
> = {
  readonly [Name in Names]: (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: TaskContext<
      NoInfer<Names>,
      StandardSchemaV1.InferInput<Schema>,
      StandardSchemaV1.InferOutput<PreviousSchema>
    >,
  ) => unknown
}

/** The type of the result of a task with these stages: each stage's return type without `Next` and `Release`. */
export type StagedOutput<Stages> = {
  [Name in keyof Stages]: Stages[Name] extends (...given: never) => infer Returned
    ? Exclude<Awaited<Returned>, Next | Release>
    : never
}[keyof Stages]

const STAGE_NAME_CHARACTERS_MAX = 100

type Handler = (input: never, context: TaskContext) => unknown

/**
 * Makes one handler of the stages' handlers. It runs the handler of the task's stage, or the first handler if the task is not in a
 * stage yet.
 *
 * @throws BatonError `invalid` when there is no stage, or when a stage's name is not legal.
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
    throw new BatonError('invalid', `${type}: 'stages' is empty; give at least one stage`)
  }
  const wrong = names.find(name => name === '' || name.length > STAGE_NAME_CHARACTERS_MAX || isIndex(name))
  if (wrong === undefined) return
  const legal = `1–${STAGE_NAME_CHARACTERS_MAX} characters and is not a whole number`
  throw new BatonError('invalid', `${type}: a stage cannot be named '${wrong}'; a name has ${legal}`)
}

/** Whether the name is a whole number. JavaScript puts members with such names first, which would change the first stage. */
function isIndex(name: string): boolean {
  return /^\d+$/.test(name)
}
