import {
  delayProblem,
  priorityProblem,
  stageProblem,
  unknownTypeProblem,
  wholeDelay,
} from '../../core/rules/rules.ts'
import type { Task } from '../../core/task/task.ts'
import { BatonError, defined, type FieldProblem } from '../../core/values/values.ts'
import type { ChildPublication } from '../../define/definitions.ts'
import type { System } from '../kernel/system.ts'
import { publish } from './publish.ts'
import { problemText } from './resolve-flow.ts'
import { requestOfBody } from './resolve-publication.ts'

/** The parent, and the traceparent of its run. */
type Parent = { readonly task: Pick<Task, 'id' | 'userId'>; readonly traceparent?: string | undefined }

/**
 * Publishes a task from within a handler. The task inherits the user of its parent, and its trace continues from
 * the parent's run.
 *
 * @throws BatonError `unknown-type` or `invalid`, naming the field and what would be legal; `refused` when a task of the key is running.
 */
export async function publishChild(
  system: System,
  { task: { id, userId }, traceparent }: Parent,
  publication: ChildPublication,
): Promise<{ id: string; created: boolean }> {
  const problems = storageProblems(publication)
  if (problems.length > 0) throw refused('invalid', problems)
  const { delayMs, ...request } = requestOfBody(publication)
  const outcome = await publish(system, {
    ...defined({ userId, traceparent }),
    ...request,
    ...(delayMs !== undefined && { delayMs: wholeDelay(delayMs) }),
    parentId: id,
  })
  if (outcome.ok) return { id: outcome.task.id, created: outcome.created }
  switch (outcome.reason) {
    case 'unknown-type': {
      const messageOf = (type: string) => unknownTypeProblem(type, outcome.existing)
      const unknown = outcome.unknown.map(({ type, path }) => ({ path, message: messageOf(type) }))
      throw refused('unknown-type', unknown)
    }
    case 'invalid':
      throw refused('invalid', outcome.problems)
    case 'running':
      throw new BatonError('refused', `${outcome.task.id} is running`)
    case 'error':
      throw outcome.error
  }
}

/** Problems that would make the task impossible to store, or give it an invalid time. */
function storageProblems({ delayMs, dueAt, priority, stage }: ChildPublication): FieldProblem[] {
  const isInvalidTime = dueAt !== undefined && Number.isNaN(Date.parse(dueAt))
  const found: ReadonlyArray<readonly [string, string | undefined]> = [
    ['delayMs', delayMs === undefined ? undefined : delayProblem(delayMs)],
    ['dueAt', isInvalidTime ? 'must be a time such as 2026-01-31T12:00:00.000Z' : undefined],
    ['priority', priority === undefined ? undefined : priorityProblem(priority)],
    ['stage', stage === undefined ? undefined : stageProblem(stage)],
  ]
  return found.flatMap(([path, message]) => (message === undefined ? [] : [{ path, message }]))
}

function refused(code: 'unknown-type' | 'invalid', problems: readonly FieldProblem[]): BatonError {
  return new BatonError(code, problemText(problems), { problems })
}
