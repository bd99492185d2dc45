import type { StepAction } from '../../core/task/flow-state.ts'
import { actionOf } from '../../core/task/piece.ts'
import { effectiveInput } from '../../core/task/previous.ts'
import type { Task } from '../../core/task/task.ts'
import type { Json } from '../../core/values/json.ts'
import type { RunContent } from '../../ports/runs.ts'
import { readPrevious, TOO_LONG } from '../canvas/read-previous.ts'
import { bodyValue, publishedBody } from '../kernel/living-bodies.ts'
import type { System } from '../kernel/system.ts'

/** The values that a worker gets for a task. */
export type Content = RunContent & {
  /** The handed-on list is too long to be included. The worker reads it in pages, and the input does not contain it. */
  readonly isPreviousPaged?: true
}

/**
 * The content of a task. A handed-on list of more than `mostListBytes` is left out, for the worker to read in pages.
 *
 * @throws BodyGone when a part of the content is no longer stored; BatonError `unavailable` when it may be stored in a moment.
 */
export async function contentOf(
  system: Pick<System, 'tasks' | 'clock'>,
  task: Task,
  mostListBytes?: number,
): Promise<Content> {
  const [stored, handedOn] = await Promise.all([
    task.input && present(await publishedBody(system, task, task.input), `the input of ${task.id}`),
    readPrevious(system, task, mostListBytes),
  ])
  if (handedOn === TOO_LONG)
    return { ...(await joined(system, task, stored, undefined)), isPreviousPaged: true }
  const previous = task.previous && present(handedOn, `what was handed on to ${task.id}`)
  return joined(system, task, stored, previous)
}

/** The content, from the stored input and what was handed on. */
function joined(
  system: Pick<System, 'tasks'>,
  task: Task,
  stored: Json | undefined,
  previous: Json | undefined,
): Promise<Content> | Content {
  const action = actionOf(task)
  if (action) return stepContent(system, task, action, stored, previous)
  const input =
    task.previous && previous !== undefined ? effectiveInput(stored, previous, task.previous.handOn) : stored
  return { ...(input !== undefined && { input }), ...(previous !== undefined && { previous }) }
}

/** Thrown when a value that the task needs is no longer stored. */
export class BodyGone extends Error {
  override readonly name = 'InputExpired'
}

function present(value: Json | undefined, what: string): Json {
  if (value === undefined) throw new BodyGone(`${what} is no longer stored`)
  return value
}

async function stepContent(
  system: Pick<System, 'tasks'>,
  task: Task,
  action: StepAction,
  stored: Json | undefined,
  previous: Json | undefined,
): Promise<Content> {
  const params = { ...(stored as Record<string, Json> | undefined), ...(await resultsOf(system, task)) }
  return { input: action.input ?? params, params, ...(previous !== undefined && { previous }) }
}

async function resultsOf(system: Pick<System, 'tasks'>, { id, flow }: Task): Promise<Record<string, Json>> {
  const results = await Promise.all(
    (flow?.definition.steps ?? []).map(async ({ name }, index) => {
      const result = flow?.steps[index]?.result
      return result
        ? [[name, present(await bodyValue(system, id, result), `the result of ${name} of ${id}`)] as const]
        : []
    }),
  )
  return Object.fromEntries(results.flat())
}
