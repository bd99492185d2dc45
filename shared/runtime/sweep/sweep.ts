/**
 * The sweeper is the safety net under all messages. It runs a round every minute.
 *
 * What can be lost. The table holds what is true, and a message only says when a process should look at it. A message is
 * lost when a queue refuses it, when it becomes a dead letter, or when its process dies between its write and its send. A
 * process that dies also leaves work half done: a canvas whose members are not all published, a purge, a change of a type
 * that is not applied to all tasks yet, a worker that is still listed.
 *
 * What mends it. For each kind of loss there is a repair: `REPAIRS` below is the whole list. A repair reads the table,
 * derives from it what should have happened by now, and does that again. It finds a loss without any message. Most repairs
 * send a message again; ticks, markers and callbacks are done directly, so these also work while queues are down.
 *
 * How it sees a task. Open tasks are listed in `view` by the time from which they need something: the due time, or an earlier deadline,
 * live run or end that owes callbacks (`sweptFrom` in `core/place`). A round reads those whose time has come.
 *
 * How soon. A loss is repaired in the first round in which it cannot be a late message any more, as the list says, however many
 * tasks wait. Three observations make this possible:
 * - A run that has lasted for a heartbeat is in the running place, with few others. A round reads all of it, up to 12,000 tasks of a type.
 * - A queue delivers messages nearly in the order in which they were sent. So the due tasks whose turn is over either run or have lost
 *   their message. These are few, and a round reads them all. It skips the others, which are many.
 * - The tasks that have started last show which turn it is. No measure of the queue itself is as fresh.
 * Tasks that workers take in an order of their own, and steps of flows, wait without a turn. A round reads a part of them, and the next
 * round continues (`docs/scale.md` has the table).
 *
 * What it costs. An idle stack pays for 31 read units a round. A round reads at most some 20,000 tasks of a type, and only as many as
 * run or are overdue. It writes a cursor only where it leaves tasks unread.
 *
 * What it never does. It never claims or runs a task: it sends the message again, and the receiver decides. What it does
 * itself, such as the tick of a schedule, changes nothing when it is done twice. It never relies on an earlier round. What a
 * process and the pass records remember of earlier rounds only decides how soon and how often a task is sent again. It never
 * floods a queue: it sends the message of a task for certain until two passes have read the task, then ever more rarely, and at last
 * once in the life of a message. It never stops because one item, one type or one repair fails.
 *
 * Read this file, then `sweep-tasks.ts`, the repair with the most to do: `sweep-passes.ts` reads partitions of tasks in
 * passes, and `lost-tasks.ts` judges which tasks have lost their message. `sweep-minutes.ts` wakes minutes that lay
 * further ahead than an SQS delay reaches (far minutes). `stuck-tasks.ts` reports tasks that no message can help. The room
 * `repair/` holds what all repairs share.
 */

import type { Task } from '../../core/task/task.ts'
import { sweepCanvases } from '../canvas/sweep-canvases.ts'
import { sweepPurges } from '../jobs/sweep-purges.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { sweepLines } from '../limits/begin-looks.ts'
import { NOTHING_SWEPT, type SweepReport, sumOf } from '../repair/repair.ts'
import { sweepSchedules } from '../schedule/sweep-schedules.ts'
import { sweepTypeChanges } from '../types/apply-type-change.ts'
import { sweepWorkers } from '../worker/worker.ts'
import { reportStuck } from './stuck-tasks.ts'
import { sweepMinutes } from './sweep-minutes.ts'
import { beginRound, type SweepMemory, type SweepRound, type TasksBudget } from './sweep-round.ts'
import { sweepTasks } from './sweep-tasks.ts'

/** A round of a repair may also return the tasks that it has read. The stuck ones among them are reported. */
type RepairReport = SweepReport & { readonly tasks?: readonly Task[] }

export type Repair = {
  readonly name: string
  /** What it mends, and how soon. */
  readonly repairs: string
  /** A round begins no further work after this time. All rounds share the 50 s of the sweeper's function. @default unlimited */
  readonly workMsMax?: number
  round(round: SweepRound, stopAt: number): Promise<RepairReport>
}

/** All repairs, in the order in which their rounds begin. The rounds run side by side. */
export const REPAIRS: readonly Repair[] = [
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
    repairs: 'minutes with tasks whose EventBridge schedule has not fired 55 s before they begin',
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
    name: 'lines of limits',
    repairs: 'lines whose looks are late by 35 s',
    round: async ({ system }) => {
      const repaired = await sweepLines(system)
      return { ...NOTHING_SWEPT, repaired }
    },
  },
  {
    name: 'workers',
    repairs: 'workers that are listed though they were silent for 40 s',
    round: ({ system }) => sweepWorkers(system),
  },
  {
    name: 'tasks',
    repairs:
      'messages, markers and callbacks that are late by 10 s; limits that nothing looks at; bodies of waiting tasks',
    workMsMax: 35_000,
    round: sweepTasks,
  },
]

/**
 * One round of all repairs. A repair that fails does not stop the others. The process keeps `memory` from round to round.
 * Without a `budget`, a round reads enough for 10,000 running tasks of a type.
 */
export async function sweep(
  system: PlanningSystem,
  memory: SweepMemory = { minutes: new Set() },
  { repairs = REPAIRS, budget }: { repairs?: readonly Repair[]; budget?: TasksBudget | undefined } = {},
): Promise<SweepReport> {
  const round = await beginRound(system, memory, budget)
  const reports = await Promise.all(repairs.map(repair => makeRepair(round, repair)))
  await reportStuck(
    round,
    reports.flatMap(({ tasks = [] }) => tasks),
  )
  return sumOf(reports)
}

async function makeRepair(round: SweepRound, repair: Repair): Promise<RepairReport> {
  const { clock, log } = round.system
  const { name, repairs, workMsMax = Number.POSITIVE_INFINITY } = repair
  try {
    return await repair.round(round, clock.now() + workMsMax)
  } catch (error) {
    log.error('a repair of the sweeper failed: it mends nothing in this round', {
      repair: name,
      repairs,
      error,
    })
    return { ...NOTHING_SWEPT, failed: 1 }
  }
}
