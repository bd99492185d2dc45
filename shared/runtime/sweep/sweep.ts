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
 * How it finds a task. Open tasks are listed in `view` by the time from which the sweeper must look at them: usually the due time, or
 * an earlier deadline, the end of a live run's lease, or the end that owes callbacks (`sweptFrom` in `core/place`). A round reads the
 * tasks whose time has come.
 *
 * How soon. A loss is repaired in the first round in which it cannot be a late message any more, as the list says, however many
 * tasks wait. Three observations make this possible:
 * - A run that has lasted for a heartbeat is in the running place, with few others. A round reads all of it, up to 12,000 tasks of a type.
 * - A queue delivers messages nearly in the order in which they were sent. When it has delivered messages that were sent later than
 *   the message of a due task, the turn of that task is over: it runs, or its message is lost. These tasks are few, and a round reads
 *   them all. It skips the others, which are many.
 * - The tasks that have started last show which messages the queue delivers now. No measure of the queue itself is as fresh.
 * Tasks that workers take in an order of their own, and steps of flows, have no turn. A round reads a part of them, and the next round
 * continues (`docs/scale.md` has the table).
 *
 * What it costs. An idle stack pays for 31 read units a round. A round reads at most some 20,000 tasks of a type, and only as many as
 * run or are overdue. It writes a cursor only where it leaves tasks unread.
 *
 * What it never does. It never claims or runs a task: it sends the message again, and the receiver decides. What it does
 * itself, such as the tick of a schedule, changes nothing when it is done twice. It never relies on an earlier round. What a
 * process and the pass records remember of earlier rounds only decides how soon and how often a task is sent again. It never
 * floods a queue: it always sends the message of a task until two passes have read the task, then less and less often, and at last
 * once in the life of a message. It never stops because one item, one type or one repair fails.
 *
 * Read this file, then `sweep-tasks.ts`, the repair with the most to do. `lost-tasks.ts` judges which tasks have lost their
 * message, and reports those that no message can help. The room `repair/` holds what all repairs share.
 */

import { EVERY_TYPE } from '../../core/bounds.ts'
import { MINUTE_SHARDS, minuteOf, minutePlaceName, minuteStart } from '../../core/place/place.ts'
import type { Task } from '../../core/task/task.ts'
import { sweepCanvases } from '../canvas/sweep-canvases.ts'
import { sweepBulks } from '../jobs/bulk.ts'
import { sweepPurges } from '../jobs/sweep-purges.ts'
import type { PlanningSystem, System } from '../kernel/system.ts'
import { sweepLines } from '../limits/begin-looks.ts'
import { NOTHING_SWEPT, type SweepReport, sumOf, sweepEach } from '../repair.ts'
import { sweepSchedules } from '../schedule/tick-schedule.ts'
import { sweepTypeChanges } from '../types/change-type.ts'
import { wakeMinute, wasMinuteWoken } from '../wake.ts'
import { sweepWorkers } from '../worker/worker.ts'
import { reportStuck } from './lost-tasks.ts'
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
    name: 'bulk operations',
    repairs: 'bulk operations silent for a minute, or for 15 minutes while the jobs queue is busy',
    round: ({ system, types }) => sweepBulks(system, types),
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
  const read = reports.flatMap(({ tasks = [] }) => tasks)
  await reportStuck(round, read)
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

/**
 * If the EventBridge schedule of a minute has not fired this long before the minute begins, it was lost. These schedules are set two
 * minutes ahead, and may fire up to one minute late. An earlier check would dispatch whole minutes twice.
 */
const LOOK_AHEAD_MS = 55_000
/**
 * Rounds come every minute, so looking back further than one minute covers lost rounds. The tasks of older
 * minutes are swept as overdue tasks.
 */
const LOOK_BACK_MS = 180_000

/** The minutes that this process knows to need no repair. */
export type CheckedMinutes = Set<number>

/**
 * Wakes the far minutes whose EventBridge schedule was lost, deleted, or never created: they begin about now, have
 * tasks in their place, and left no record of having been woken. (Tasks enter the place of a far minute while it is further
 * ahead than an SQS delay reaches, 15 minutes.)
 *
 * No task enters the place of a minute in the last quarter of an hour before it, so each minute is checked once. A
 * check reads one record and, if there is none, `MINUTE_SHARDS` partitions, however many tasks wait.
 *
 * The process keeps `seen` from round to round.
 */
export async function sweepMinutes(system: System, seen: CheckedMinutes): Promise<SweepReport> {
  const now = system.clock.now()
  const from = minuteOf(now - LOOK_BACK_MS)
  for (const minute of seen) if (minute < from) seen.delete(minute)
  const minutes = []
  for (let minute = from; minuteStart(minute) <= now + LOOK_AHEAD_MS; minute++) {
    if (!seen.has(minute)) minutes.push(minute)
  }
  return sweepEach(
    minutes,
    minutes.length,
    minute => sweepMinute(system, minute, seen),
    (minute, error) => system.log.error('a far minute was not swept', { minute: minuteStart(minute), error }),
  )
}

async function sweepMinute(system: System, minute: number, seen: CheckedMinutes): Promise<SweepReport> {
  const isLost = !(await wasMinuteWoken(system, minute)) && (await hasTasks(system, minute))
  if (isLost) {
    await wakeMinute(system, minute)
    system.metrics.add('SweeperRepaired', 1, EVERY_TYPE)
    system.log.warn('woke a far minute whose EventBridge schedule did not fire', {
      minute: minuteStart(minute),
    })
  }
  seen.add(minute)
  return { ...NOTHING_SWEPT, repaired: Number(isLost) }
}

async function hasTasks({ tasks }: System, minute: number): Promise<boolean> {
  const pages = await Promise.all(
    Array.from({ length: MINUTE_SHARDS }, (_, shard) =>
      tasks.page({ index: 'place', partition: minutePlaceName(minute, shard), limit: 1 }),
    ),
  )
  return pages.some(({ entries }) => entries.length > 0)
}
