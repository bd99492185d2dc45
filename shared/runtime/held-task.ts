import { finish, type Outcome } from '../core/finish.ts'
import type { Claimed } from './claim-task.ts'
import { BodyGone, type Content, contentOf } from './content-of.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { transact } from './transact.ts'

/** A task with a run that its worker holds, and what it is to work on. */
export type HeldTask = Claimed & Content

const MOST_READS_AT_ONCE = 25
/** Lists handed on to the tasks of one answer, which shows them twice, in `previous` and in the input. */
const MOST_LIST_BYTES = 400 * 1024

/** Adds the contents. A run whose input cannot be had is ended for its worker, who could do nothing with it. */
export async function heldTasks(system: System, claimed: readonly Claimed[]): Promise<HeldTask[]> {
  const held = await sideBySide(claimed, MOST_READS_AT_ONCE, async one => {
    try {
      return [{ ...one, ...(await contentOf(system, one.task, MOST_LIST_BYTES / claimed.length)) }]
    } catch (error) {
      await endUnread(system, one, error)
      return []
    }
  })
  return held.flat()
}

async function endUnread(system: System, one: Claimed, error: unknown): Promise<void> {
  if (error instanceof BodyGone) {
    const { name, message } = error
    return end(system, one, { outcome: 'fail', error: { name, message }, fatal: true })
  }
  system.log.warn('gave a claim back: its input could not be read', { taskId: one.task.id, error })
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
