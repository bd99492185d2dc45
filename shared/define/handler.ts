import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { DerivedBody } from '../api/publish.ts'
import { BatonError } from '../core/errors.ts'
import { Fatal } from '../signals.ts'
import type { RunContext, TaskContext } from './definitions.ts'
import { bodyOf, inputProblems, type Publishable, problemsOf, textOf } from './publishable.ts'

type Handler = (input: never, context: TaskContext) => unknown

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
  throw new BatonError('invalid', `the input does not fit ${type}: ${textOf(problems)}`, { problems })
}
