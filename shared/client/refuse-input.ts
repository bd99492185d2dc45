import type { AnyDefinition } from '../define/definitions.ts'
import { inputProblems, textOf } from '../define/publishable.ts'
import { clientProblem } from './problem-error.ts'

/**
 * Checks an input by the definition's schema. The input itself is sent, not what the schema makes of it: the handler's process parses it
 * again, and a schema that transforms would not accept its own result.
 *
 * @throws ProblemError `invalid`, as the API refuses: `problem.errors` names each wrong field.
 */
export async function refuseInput({ type, input: schema }: AnyDefinition, input: unknown): Promise<void> {
  const errors = await inputProblems(schema, input)
  if (!errors) return
  const detail = `the input does not fit ${type}: ${textOf(errors)}`
  throw clientProblem('invalid', { title: 'The request is not valid', status: 400, detail, errors })
}
