import type { Json } from '../../core/json.ts'
import type { StepAction } from '../../core/task/flow-state.ts'
import { actionOf } from '../../core/task/piece.ts'
import { effectiveInput } from '../../core/task/previous.ts'
import type { Task } from '../../core/task/task.ts'
import { readPrevious, TOO_LONG } from '../canvas/previous-of.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import type { System } from '../kernel/system.ts'

/** What a worker is given to work on. */
export type Content = {
  /** With what was handed on; of a flow what its step is given. */
  readonly input?: Json
  /** Of a flow: its input, and the result of each step that was done, under the step's name. */
  readonly params?: Readonly<Record<string, Json>>
  /** What the task before handed on. */
  readonly previous?: Json
  /** What was handed on is longer than could be given: it is to be read in pages, and the input is without it. */
  readonly isPreviousPaged?: true
}

/**
 * The content of a task. A list that was handed on and is longer than `mostListBytes` is left to be read in pages.
 *
 * @throws BodyGone when something of it is no longer stored.
 */
export async function contentOf(
  system: Pick<System, 'tasks'>,
  task: Task,
  mostListBytes?: number,
): Promise<Content> {
  const [stored, handedOn] = await Promise.all([
    task.input && present(await bodyValue(system, task.id, task.input), `the input of ${task.id}`),
    readPrevious(system, task, mostListBytes),
  ])
  if (handedOn === TOO_LONG)
    return { ...(await whole(system, task, stored, undefined)), isPreviousPaged: true }
  const previous = task.previous && present(handedOn, `what was handed on to ${task.id}`)
  return whole(system, task, stored, previous)
}

function whole(
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

/** Something that a task cannot be worked on without has expired. */
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
