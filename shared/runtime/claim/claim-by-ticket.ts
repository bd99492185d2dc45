import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { startByTickets } from '../limits/start-policy.ts'
import type { Claimed } from './claim.ts'
import { type ClaimResult, claimReady } from './claim-ready.ts'

/**
 * Tokens: where a type's tasks are run in order, a dispatch says no more than that one of them may be claimed. Whoever
 * receives it takes the best that waits, the one that the dispatch names among them. There is a token for each task in a
 * ready place, so one that finds the task it names taken still stands for another.
 */

/** A token that found nothing is passed on so often, since an index may show late what is there. */
export const TICKET_PASSES_MAX = 2
export const TICKET_PASS_DELAY_S = 1

/** Claims for tokens of one type the best tasks that wait, one for each; what a limit holds back waits for that instead. */
export function claimByTickets(
  system: System,
  type: TaskType,
  claimer: Claimer,
  named: readonly Task[],
): Promise<ClaimResult> {
  const targets = [...new Map(named.map(task => [task.id, task])).values()]
  const wanted = named.length
  return claimReady(system, [type], claimer, {
    wanted,
    targets,
    startPolicy: startByTickets(targets),
    countsWaiting: true,
  })
}

/** What a token came to: a claim, a task that waits for a limit instead, or nothing. */
type TicketOutcome = Claimed | 'held' | 'nothing'

/** Claims for one token at a time; those who ask while others are claimed for are claimed for together. */
export type TicketWaitList = (type: TaskType, named: Task) => Promise<TicketOutcome>

type Asking = {
  readonly type: TaskType
  readonly named: Task
  resolve(outcome: TicketOutcome): void
  reject(error: unknown): void
}

export function createTicketWaitList(system: System, claimer: Claimer): TicketWaitList {
  const lines = new Map<string, Asking[]>()
  const serve = async (name: string) => {
    for (let waiting = lines.get(name); waiting?.length; waiting = lines.get(name)) {
      lines.set(name, [])
      await answer(system, claimer, waiting)
    }
    lines.delete(name)
  }
  return (type, named) =>
    new Promise((resolve, reject) => {
      const name = workOf(named).type
      const waiting = lines.get(name)
      lines.set(name, [...(waiting ?? []), { type, named, resolve, reject }])
      if (!waiting) void serve(name)
    })
}

/** By the type as the latest of them knows it: a line may go on for hours. */
async function answer(system: System, claimer: Claimer, asking: readonly Asking[]): Promise<void> {
  const latest = asking.at(-1)
  if (!latest) return
  try {
    const named = asking.map(one => one.named)
    const { claimed, waiting: held } = await claimByTickets(system, latest.type, claimer, named)
    const isHeld = (nth: number) => nth < claimed.length + held
    for (const [nth, { resolve }] of asking.entries()) {
      resolve(claimed[nth] ?? (isHeld(nth) ? 'held' : 'nothing'))
    }
  } catch (error) {
    for (const { reject } of asking) reject(error)
  }
}
