import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { DerivedBody } from '../api/publish.ts'
import { illegal } from '../core/values/values.ts'
import { Fatal, type Next, type Release } from '../signals.ts'
import type { RunContext, TaskContext } from './definitions.ts'
import { bodyOf, inputProblems, type Publishable, problemsOf, textOf } from './publishable.ts'

/** A handler as the compiler has not checked it. */
export type Handler = (input: never, context: TaskContext) => unknown

type Schemas = {
  readonly previous: StandardSchemaV1 | undefined
  readonly params: StandardSchemaV1 | undefined
}

/**
 * Makes the handler that a process calls of the handler that a user wrote. The process gives plain values and a `publish` that takes
 * bodies. The user's handler gets `previous` and `params` as the definition's schemas parse them, and may publish definitions.
 */
export function withTypedContext(type: string, { previous, params }: Schemas, handler: Handler) {
  return (input: unknown, context: RunContext): never => {
    const typed = { ...context, publish: publishOf(context) }
    const run = (more: object = {}) => handler(input as never, { ...typed, ...more } as TaskContext) as never
    if (!previous && !params) return run()
    const parsed = Promise.all([
      parsedPart(type, 'previous', previous, context.previous),
      parsedPart(type, 'params', params, context.params),
    ])
    return parsed.then(([first, second]) => run({ ...first, ...second })) as never
  }
}

/** @throws Fatal when the value does not fit, since no retry would help. */
async function parsedPart(
  type: string,
  name: 'previous' | 'params',
  schema: StandardSchemaV1 | undefined,
  value: unknown,
): Promise<object> {
  if (!schema) return {}
  const parsed = await schema['~standard'].validate(value)
  if (!parsed.issues) return { [name]: parsed.value }
  throw new Fatal(`${name} does not fit ${type}: ${textOf(problemsOf(parsed.issues, name))}`)
}

/**
 * The `publish` of a handler's context. It turns a definition, or the name of a type, into a body.
 *
 * @throws BatonError `invalid` when the input does not fit the definition's schema, naming each wrong field.
 */
function publishOf(context: RunContext): TaskContext['publish'] {
  return async (what: Publishable, ...given: unknown[]) => {
    if (typeof what === 'object' && 'kind' in what) await refuseInput(what, given[0])
    return context.publish(bodyOf(what, given) as DerivedBody)
  }
}

async function refuseInput(
  { type, input: schema }: Exclude<Publishable, string | DerivedBody>,
  input: unknown,
) {
  const problems = await inputProblems(schema, input)
  if (!problems) return
  throw illegal(`the input does not fit ${type}: ${textOf(problems)}`, { problems })
}

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
    throw illegal(`${type}: 'stages' is empty; give at least one stage`)
  }
  // JavaScript puts members whose names are whole numbers first, which would change the first stage.
  const wrong = names.find(name => /^\d*$/.test(name) || name.length > STAGE_NAME_CHARACTERS_MAX)
  if (wrong === undefined) return
  const legal = `1–${STAGE_NAME_CHARACTERS_MAX} characters and is not a whole number`
  throw illegal(`${type}: a stage cannot be named '${wrong}'; a name has ${legal}`)
}
