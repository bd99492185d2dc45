import { finish, type Outcome } from '../core/finish.ts'
import type { Json } from '../core/json.ts'
import type { Claimed } from './claim-task.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { transact } from './transact.ts'

/** A task with a run that its worker holds, and the input to work on. */
export type HeldTask = Claimed & { readonly input?: Json }

const MOST_READS_AT_ONCE = 25

/** Adds the inputs. A run whose input cannot be had is ended for its worker, who could do nothing with it. */
export async function heldTasks(system: System, claimed: readonly Claimed[]): Promise<HeldTask[]> {
  const held = await sideBySide(claimed, MOST_READS_AT_ONCE, async one => {
    try {
      return await withInput(system, one)
    } catch (error) {
      system.log.warn('gave a claim back: its input could not be read', { taskId: one.task.id, error })
      await end(system, one, { outcome: 'release' })
      return []
    }
  })
  return held.flat()
}

async function withInput(system: System, one: Claimed): Promise<HeldTask[]> {
  const { id, input } = one.task
  if (!input) return [one]
  if ('inline' in input) return [{ ...one, input: input.inline }]
  const value = await system.tasks.body(id, input.ref)
  if (value !== undefined) return [{ ...one, input: value }]
  const error = { name: 'InputExpired', message: 'the input of the task is no longer stored' }
  await end(system, one, { outcome: 'fail', error, fatal: true })
  return []
}

async function end(system: System, { task, run }: Claimed, outcome: Outcome): Promise<void> {
  const word = { born: task.born, fence: run.fence, ...outcome }
  await transact(system, task, current =>
    finish(current, word, system.clock.now(), system.chance.fraction()),
  ).catch(error => {
    system.log.warn('a run was left to its lease', { taskId: task.id, error })
  })
}
