import { limitChangeIn } from '../../../shared/aws/dynamo/limits/limit-store.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { Log, MetricName } from '../../../shared/ports/machine.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import { CHANGE_HOOKS } from '../../../shared/runtime/change-hooks.ts'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import type { DiagnosticSystem, PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { planLimits } from '../../../shared/runtime/limits/begin-looks.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { createMemoryStores } from '../../../shared/testing/stores/memory-stores.ts'
import { imageOf } from '../../../shared/testing/table/values.ts'
import { createManualClock, type ManualClock } from '../ports/clock.ts'
import { createMemoryFarTimers, createMemoryMessages, type MemoryMessages } from '../ports/messages.ts'
import { aPublication, aType, changeOf, NOW, taskIn } from '../tasks/a-task.ts'

/** A whole system in memory, whose clock shows `NOW`. The planner gets changes of limits at once, and changes of tasks never. */
export type MemorySystem = PlanningSystem &
  DiagnosticSystem & {
    readonly clock: ManualClock
    readonly messages: MemoryMessages
    readonly timers: ReturnType<typeof createMemoryFarTimers>
    /** The bodies of dead letters that were sent again. */
    readonly sentAgain: Parameters<DiagnosticSystem['resender']['sendAgain']>[0][number][]
    /** The sum of a metric's values. */
    counted(name: MetricName): number
  }

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

export function aMemorySystem(): MemorySystem {
  const clock = createManualClock(NOW)
  const counts = new Map<MetricName, number>()
  const messages = createMemoryMessages()
  const sentAgain: MemorySystem['sentAgain'] = []
  const stores: ReturnType<typeof createMemoryStores> = createMemoryStores({
    clock,
    onWrite: ({ after }) => {
      const change = after && limitChangeIn(imageOf(after))
      if (change) void planLimits({ messages, limits: stores.limits, clock, log: silent }, [change])
    },
  })
  return {
    clock,
    chance: createSeededChance(1),
    ...stores,
    messages,
    timers: createMemoryFarTimers(),
    changeHooks: CHANGE_HOOKS,
    log: silent,
    metrics: { add: (name, value) => counts.set(name, (counts.get(name) ?? 0) + value) },
    sentAgain,
    resender: {
      sendAgain: async letters => {
        sentAgain.push(...letters)
        return []
      },
    },
    counted: name => counts.get(name) ?? 0,
  }
}

/** A store of tasks on a table of its own. */
export function aTaskStore(): TaskStore {
  return createMemoryStores({ clock: createManualClock(NOW) }).tasks
}

/** Publishes a task now with these particulars, and returns it as stored. */
export async function stored(
  system: MemorySystem,
  parts: Parameters<typeof aPublication>[0] = {},
): Promise<Task> {
  const change = create(aPublication({ dueAt: system.clock.now(), ...parts }), undefined, system.clock.now())
  return taskIn(await system.tasks.apply(change))
}

/** Returns the result of `work`. Meanwhile the clock advances in steps of 20 ms, by 20 s at most. */
export async function timed<T>(system: MemorySystem, work: Promise<T>): Promise<T> {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  work.then(end, end)
  for (let nth = 0; nth < 1_000 && !hasEnded; nth++) await system.clock.advance(20)
  return work
}

/** Registers a type, which has a handler unless `parts` say otherwise. */
export async function registered(system: MemorySystem, parts: Partial<TaskType> = {}): Promise<TaskType> {
  const configuration = { kind: 'handler', defaults: {}, shards: 1 } as const
  const type = aType({ configuration, handlerSince: NOW, ...parts })
  await system.types.put(type, 0)
  return type
}

/** Serves the messages of jobs that were sent so far, until a time. */
export async function servedJobs(system: MemorySystem, stopAt = Number.POSITIVE_INFINITY): Promise<void> {
  for (const look of system.messages.jobLooks.splice(0)) await workOnJob(system, look, stopAt)
}

/** Claims a stored task for the worker `w1`. Returns the claimed task. */
export async function claimed(system: MemorySystem, task: Task): Promise<Task> {
  return taskIn(await system.tasks.apply(changeOf(claim(task, { workerId: 'w1' }, system.clock.now()))))
}

/** The system with a store that calls `before` with the new head ahead of each write. When `before` throws, nothing is written. */
export function beforeWrites<S extends Pick<MemorySystem, 'tasks'>>(
  system: S,
  before: (after: Head) => unknown,
): S {
  const { tasks } = system
  const apply: TaskStore['apply'] = async change => {
    await before(change.after)
    return tasks.apply(change)
  }
  return { ...system, tasks: { ...tasks, apply } }
}

/** What a store throws that does not answer. */
export function noAnswer(): never {
  throw new BatonError('unavailable', 'no answer')
}
