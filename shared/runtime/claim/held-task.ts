import { ANSWER_BYTES_MAX, CLAIMED_LISTS_BYTES_MAX } from '../../core/bounds.ts'
import { escapedBytes, type Json } from '../../core/json.ts'
import { claimFrameBytes } from '../../core/run/claim-size.ts'
import { finish, type Outcome } from '../../core/run/finish.ts'
import { transact } from '../kernel/kernel.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import type { Claimed } from './claim.ts'
import { BodyGone, type Content, contentOf } from './content-of.ts'

/** A task with a run that its worker holds, and what it is to work on. */
export type ClaimedTask = Claimed &
  Content & {
    /** Its parameters are its input, too, and only one of them fits the answer: the input is left out. */
    readonly isInputParams?: true
  }

const MOST_READS_AT_ONCE = 25

/**
 * Adds the contents. The run of a task that cannot be delivered is ended for its worker, which could do nothing with it:
 * its input cannot be read, or it has grown since it was seen, so that the answer has no room for it.
 */
export async function withContents(system: System, claimed: readonly Claimed[]): Promise<ClaimedTask[]> {
  const held = await sideBySide(claimed, MOST_READS_AT_ONCE, async one => {
    try {
      return [{ ...one, ...(await contentOf(system, one.task, CLAIMED_LISTS_BYTES_MAX / claimed.length)) }]
    } catch (error) {
      await endUnread(system, one, error)
      return []
    }
  })
  const { fitting, excess } = withinAnswer(held.flat())
  await sideBySide(excess, MOST_READS_AT_ONCE, async one => {
    await releaseClaim(system, one, 'the answer has no room for it')
  })
  return fitting
}

/** The first tasks that one answer delivers, at least one, and the others. */
function withinAnswer(held: readonly ClaimedTask[]): { fitting: ClaimedTask[]; excess: ClaimedTask[] } {
  const [first, ...others] = held
  if (!first) return { fitting: [], excess: [] }
  const fitting = [withoutDouble(first)]
  let room = ANSWER_BYTES_MAX - bytesOf(first)
  const excess = others.filter(one => {
    room -= bytesOf(one)
    if (room >= 0) fitting.push(one)
    return room < 0
  })
  return { fitting, excess }
}

function withoutDouble(held: ClaimedTask): ClaimedTask {
  const { input, ...rest } = held
  if (input === undefined || input !== held.params || bytesOf(held) <= ANSWER_BYTES_MAX) return held
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
    return end(system, one, { outcome: 'fail', error: { name, message }, fatal: true })
  }
  await releaseClaim(system, one, 'its input could not be read', error)
}

/** Releases the run of a claim that its worker will not hear of. */
export async function releaseClaim(
  system: System,
  one: Claimed,
  why: string,
  error?: unknown,
): Promise<void> {
  system.log.warn(`gave a claim back: ${why}`, {
    taskId: one.task.id,
    ...(error !== undefined && { error }),
  })
  await end(system, one, { outcome: 'release' })
}

async function end(system: System, { task, run }: Claimed, outcome: Outcome): Promise<void> {
  const word = { born: task.born, fence: run.fence, ...outcome }
  await transact(system, task, current =>
    finish(current, word, system.clock.now(), system.chance.fraction()),
  ).catch(error => {
    system.log.warn('a run was left to its lease', { taskId: task.id, error })
  })
}
