import { ANSWER_BYTES_MAX, CLAIMED_LISTS_BYTES_MAX } from '../../core/bounds.ts'
import { claimFrameBytes } from '../../core/run/claim.ts'
import { type FinishDecision, finish } from '../../core/run/finish.ts'
import type { Finish, Outcome } from '../../core/run/run.ts'
import type { StepAction } from '../../core/task/flow-state.ts'
import { actionOf } from '../../core/task/piece.ts'
import { effectiveInput, type LiveRun, type Task } from '../../core/task/task.ts'
import { escapedBytes, type Json } from '../../core/values/values.ts'
import type { RunContent } from '../../ports/runs.ts'
import { readPrevious, TOO_LONG } from '../canvas/read-previous.ts'
import { bodyValue, publishedBody, sideBySide } from '../kernel/heads.ts'
import { type Patience, transact, type Outcome as Written } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { releasePermits } from '../limits/permits.ts'

/** A claimed task with its run and its content. */
export type ClaimedTask = Claimed &
  Content & {
    /** The step's input equals `params` (the flow's input and results) and is left out, because only one of them fits the answer. */
    readonly isInputParams?: true
  }

const CONCURRENT_READS_MAX = 25

/**
 * Adds the contents to the claims of an answer. A claim that cannot be delivered is left out, and its run is ended. That
 * happens when its task's input cannot be read, or when the task's content has grown and no longer fits the answer.
 */
export async function withContents(system: System, claimed: readonly Claimed[]): Promise<ClaimedTask[]> {
  const read = await sideBySide(claimed, CONCURRENT_READS_MAX, async one => {
    try {
      return [{ ...one, ...(await contentOf(system, one.task, CLAIMED_LISTS_BYTES_MAX / claimed.length)) }]
    } catch (error) {
      await endUnread(system, one, error)
      return []
    }
  })
  const { fitting, excess } = withinAnswer(read.flat())
  await sideBySide(excess, CONCURRENT_READS_MAX, async one => {
    await releaseClaim(system, one, 'it does not fit the answer')
  })
  return fitting
}

/** Divides the tasks into the first ones that fit one answer, at least one, and the others. */
function withinAnswer(tasks: readonly ClaimedTask[]): { fitting: ClaimedTask[]; excess: ClaimedTask[] } {
  const [first, ...others] = tasks
  if (!first) return { fitting: [], excess: [] }
  const fitting = [withoutRepeatedInput(first)]
  let bytesLeft = ANSWER_BYTES_MAX - bytesOf(first)
  const excess = others.filter(one => {
    bytesLeft -= bytesOf(one)
    if (bytesLeft >= 0) fitting.push(one)
    return bytesLeft < 0
  })
  return { fitting, excess }
}

function withoutRepeatedInput(task: ClaimedTask): ClaimedTask {
  const { input, ...rest } = task
  if (input === undefined || input !== task.params || bytesOf(task) <= ANSWER_BYTES_MAX) return task
  return { ...rest, isInputParams: true }
}

function bytesOf({ task, input, params, previous }: ClaimedTask): number {
  const contents: Array<Json | undefined> = [input, params, previous]
  return contents.reduce<number>(
    (bytes, value) => bytes + (value === undefined ? 0 : escapedBytes(value)),
    claimFrameBytes(task),
  )
}

async function endUnread(system: System, one: Claimed, error: unknown): Promise<void> {
  if (error instanceof BodyGone) {
    const { name, message } = error
    return endRunOrLog(system, one, { outcome: 'fail', error: { name, message }, fatal: true })
  }
  await releaseClaim(system, one, 'its input could not be read', error)
}

/** Releases the run of a claim that is not delivered to its worker. */
export async function releaseClaim(
  system: System,
  one: Claimed,
  why: string,
  error?: unknown,
): Promise<void> {
  system.log.warn(`a claim was released: ${why}`, {
    taskId: one.task.id,
    ...(error !== undefined && { error }),
  })
  await endRunOrLog(system, one, { outcome: 'release' })
}

/** The values that a worker gets for a task. */
type Content = RunContent & {
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

export type Claimed = {
  readonly task: Task
  readonly run: LiveRun
  /** The traceparent of the run's span, which the handler's calls and publishes continue. */
  readonly traceparent?: string | undefined
}

/**
 * After this many refusals, a success with the guard `counted` is written with the guard `revision` instead. The store
 * refuses a counted success when its run has ended, which the next decision finds out, or when older code wrote the head.
 */
const COUNTED_TRIES = 3

/** Ends a run by its worker's report. A worker may repeat its report: after the report has ended the run, it changes nothing. */
export async function writeFinish(
  system: System,
  seen: Task,
  report: Finish,
  patience?: Patience,
): Promise<Written<Task, FinishDecision>> {
  const decide = (task: Task | undefined, refusals: number) =>
    finish(task, report, system.clock.now(), system.chance.fraction(), { mayCount: refusals < COUNTED_TRIES })
  const written = await transact(system, seen, decide, patience)
  // The write was refused because it was already stored: its answer was lost. The permits are still to be released.
  const { decision, refusals } = written
  if (decision.ok && !decision.change && refusals > 0) {
    await releasePermits(system, seen.live[report.fence]?.permits ?? [])
  }
  return written
}

/**
 * Releases a run whose handler has not begun. Its task is dispatched again, and no retry is used up.
 *
 * @throws BatonError when the release is not written. Then the run ends with its lease.
 */
export async function releaseRun(system: System, { task, run }: Claimed, patience?: Patience): Promise<void> {
  await writeFinish(system, task, { born: task.born, fence: run.fence, outcome: 'release' }, patience)
}

/** Ends a run whose handler has not begun. Logs when its end is not written: the run then ends with its lease. */
export async function endRunOrLog(system: System, { task, run }: Claimed, outcome: Outcome): Promise<void> {
  await writeFinish(system, task, { born: task.born, fence: run.fence, ...outcome }).catch(error => {
    const message = 'the end of a run was not written; the run ends with its lease'
    system.log.warn(message, { taskId: task.id, error })
  })
}
