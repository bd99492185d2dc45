/**
 * The sweeper is the safety net under all messages. It runs a round every minute.
 *
 * What can be lost. The table holds all that is true, and messages only say when a process should look at it. A message is
 * lost when a queue refuses or drops it, when it becomes a dead letter, or when its process dies between its write and its
 * send. A process that dies also leaves work that it had begun: a canvas half published, a purge half done, a change of a
 * type that does not hold yet, a worker that is still listed.
 *
 * What repairs it. For each kind of loss there is a sweeper: `SWEEPERS` below is the whole list. A sweeper reads the table,
 * derives from it what should have happened by now, and does that again. It needs no message for this. So it also works
 * while queues are down.
 *
 * How soon. Most sweepers find a loss in the next round: within a minute after it can be told from a message that is late.
 * A round reads a bounded number of tasks of each type and goes on after them in the next round. So among N due tasks a
 * lost one is found within N / 2,000 minutes, or among N / 200 behind a queue with messages, where it counts as lost only
 * after ten minutes (`docs/scale.md` has the table).
 *
 * What it costs. An idle stack pays for 31 read units a round. A round over tasks costs at most some 650 heads per type and
 * shard, however many wait. Where nothing is left unread, no cursor is written.
 *
 * What it never does. It never claims, runs or judges a task: it sends the message again, and its receiver decides. It never
 * relies on having run before: cursors and counted rounds only save work. It never trusts one message: a task is sent
 * for certain until two passes have read it, and ever more rarely after that, because a task that nothing can run must not
 * fill a queue. It never fails as a whole because of one item, type or sweeper.
 *
 * Read this file, then `sweep-tasks.ts`, the sweeper with the most to do: `sweep-passes.ts` reads partitions of tasks in
 * passes, and `lost-tasks.ts` judges which tasks have lost their message. `sweep-minutes.ts` wakes far minutes, and
 * `stuck-tasks.ts` reports the tasks that no message can help. The room `sweeper/` holds what all sweepers share.
 */

import type { Task } from '../../core/task/task.ts'
import { sweepCanvases } from '../canvas/sweep-canvases.ts'
import { sweepPurges } from '../jobs/sweep-purges.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { sweepSchedules } from '../schedule/sweep-schedules.ts'
import { NOTHING_SWEPT, type SweepReport, sumOf } from '../sweeper/sweeper.ts'
import { sweepTypeChanges } from '../types/apply-type-change.ts'
import { sweepWorkers } from '../worker/worker.ts'
import { reportStuck } from './stuck-tasks.ts'
import { sweepMinutes } from './sweep-minutes.ts'
import { beginRound, type SweepMemory, type SweepRound } from './sweep-round.ts'
import { sweepTasks } from './sweep-tasks.ts'

/** A round of a sweeper may also return the tasks that it has read. The stuck ones among them are reported. */
type SweeperReport = SweepReport & { readonly tasks?: readonly Task[] }

export type Sweeper = {
  readonly name: string
  /** What it repairs, and how soon. */
  readonly repairs: string
  /** A round begins no further work after this time. All rounds share the 50 s of the sweeper's function. @default unlimited */
  readonly workMsMax?: number
  round(round: SweepRound, stopAt: number): Promise<SweeperReport>
}

/** All sweepers, in the order in which their rounds begin. The rounds run side by side. */
export const SWEEPERS: readonly Sweeper[] = [
  {
    name: 'canvases',
    repairs:
      'starts and cancellations silent for 40 s; within some rounds, members not published or not counted',
    workMsMax: 15_000,
    round: ({ system }, stopAt) => sweepCanvases(system, stopAt),
  },
  {
    name: 'schedules',
    repairs: 'ticks late by 2 s; bodies of waiting schedules, days before they expire',
    workMsMax: 30_000,
    round: ({ system }, stopAt) => sweepSchedules(system, stopAt),
  },
  {
    name: 'far minutes',
    repairs: 'minutes with tasks whose schedule has not fired 55 s before they begin',
    round: ({ system, memory }) => sweepMinutes(system, memory.minutes),
  },
  {
    name: 'purges',
    repairs: 'purges silent for a minute, or for 15 minutes while the jobs queue is busy',
    round: ({ system, types }) => sweepPurges(system, types),
  },
  {
    name: 'changes of types',
    repairs: 'limits and orders that are not applied a minute after they changed',
    round: ({ system, types }) => sweepTypeChanges(system, types),
  },
  {
    name: 'workers',
    repairs: 'workers that are listed though they were silent for 40 s',
    round: ({ system }) => sweepWorkers(system),
  },
  {
    name: 'tasks',
    repairs:
      'dispatches, looks, markers, callbacks and looks at limits that are late by 10 s; bodies of waiting tasks',
    round: sweepTasks,
  },
]

/** One round of all sweepers. A sweeper that fails does not stop the others. The process keeps `memory` from round to round. */
export async function sweep(
  system: PlanningSystem,
  memory: SweepMemory = { minutes: new Set() },
  sweepers = SWEEPERS,
): Promise<SweepReport> {
  const round = await beginRound(system, memory)
  const reports = await Promise.all(sweepers.map(sweeper => sweepRound(round, sweeper)))
  await reportStuck(
    round,
    reports.flatMap(({ tasks = [] }) => tasks),
  )
  return sumOf(reports)
}

async function sweepRound(round: SweepRound, sweeper: Sweeper): Promise<SweeperReport> {
  const { clock, log } = round.system
  const { name, repairs, workMsMax = Number.POSITIVE_INFINITY } = sweeper
  try {
    return await sweeper.round(round, clock.now() + workMsMax)
  } catch (error) {
    log.error('a sweeper failed: it repairs nothing in this round', { sweeper: name, repairs, error })
    return { ...NOTHING_SWEPT, failed: 1 }
  }
}
