/**
 * A whole system in memory and in virtual time: the real core and runtime (planner, waker, executor) on memory stores. The
 * test system in `../system` is its public face.
 *
 * - `timeline.ts`: virtual time, and all that is going to happen in it, in one order;
 * - `queues.ts`: queues, far timers and the table's stream, with their receivers;
 * - `sandbox.ts`: the process of one run, which the test can kill and freeze, and the handlers that are at work in real time, during
 *   which virtual time stands still;
 * - `serve-handler.ts`: what surrounds the call of a handler: faults, durations, and the records of its run.
 *
 * Each dispatch has a process of its own, as each invocation of a Lambda function has. The runs of a worker thus die alone.
 */

import { limitChangeIn } from '../../aws/dynamo/limits/limit-store.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { BatonError } from '../../core/values/values.ts'
import { invocationWorkerId } from '../../core/worker.ts'
import type { TaskDefinition } from '../../define/definitions.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import type { Dispatch } from '../../ports/messages.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { CHANGE_HOOKS } from '../../runtime/change-hooks.ts'
import { serveDispatches } from '../../runtime/dispatch/serve-dispatches.ts'
import type { PlanningSystem, System } from '../../runtime/kernel/system.ts'
import { cachedTypeReader } from '../../runtime/types/type-cache.ts'
import { createSeededChance } from '../stores/chance.ts'
import { createMemoryStores } from '../stores/memory-stores.ts'
import type { ItemChange } from '../table/contents.ts'
import { imageOf } from '../table/values.ts'
import { createQueues } from './queues.ts'
import { type Activity, createActivity, createSandbox, createVirtualClock, type Sandbox } from './sandbox.ts'
import { createHandlerServer, type HandlerServer } from './serve-handler.ts'
import { createTimeline, type Timeline } from './timeline.ts'

export type WorldSettings = {
  readonly definitions: readonly TaskDefinition[]
  readonly start: number
  readonly seed: number
  readonly handlerPatienceMs: number
  readonly log: Log
  /** Receives the lines of handlers, which `log` receives, too. */
  readonly onHandlerLine: (level: keyof Log, message: string, fields: LogFields) => void
}

export type World = {
  readonly timeline: Timeline
  readonly activity: Activity
  /** The system of the functions. */
  readonly functions: PlanningSystem
  /** The system of the test. Its waits take no virtual time. */
  readonly system: System
  readonly handlers: HandlerServer
  /** The stored heads, in the order of their first publish. */
  readonly heads: ReadonlyMap<string, Head>
  /** The tasks that are open, or owe callbacks. */
  readonly open: ReadonlyMap<string, Task>
  /** The ids of the heads that were written since the last call. */
  takeChanged(): Set<string>
  /** Runs what happens until `until`, and not further than `isOver` wants. @throws what a part of the system threw */
  run(until: number, isOver?: () => boolean | Promise<boolean>): Promise<void>
}

/** More events than this at one time mean that tasks cause each other without end. */
const EVENTS_AT_ONCE_MAX = 200_000

export function createWorld(settings: WorldSettings): World {
  const { definitions, start, seed } = settings
  const activity = createActivity(settings.handlerPatienceMs)
  const timeline = createTimeline(start, activity.settled)
  const errors: unknown[] = []
  const run = (work: () => Promise<void>) => void work().catch(error => void errors.push(error))
  const handlers = createHandlerServer({ timeline, activity })
  const byType = new Map(definitions.map(one => [one.type, one]))
  const queues = createQueues({
    timeline,
    system: () => system,
    isServed: type => byType.has(type),
    execute: createExecutor(
      byType,
      handlers,
      () => createSandbox(timeline, start),
      () => system,
    ),
    run,
  })
  const clock = createVirtualClock(timeline, start)
  const onWrite = ({ after }: ItemChange) => {
    const change = after && limitChangeIn(imageOf(after))
    if (change) queues.pushLimit(change)
  }
  const { deadLetters: _unread, ...stores } = createMemoryStores({ clock, onWrite })
  const table = watchedTasks(stores.tasks, queues.push)
  const system: PlanningSystem = {
    clock,
    chance: createSeededChance(seed),
    ...stores,
    tasks: table.store,
    messages: queues.messages,
    timers: queues.timers,
    changeHooks: CHANGE_HOOKS,
    log: sortedLog(settings, handlers),
    metrics: { add: () => {} },
  }
  return {
    timeline,
    activity,
    handlers,
    functions: system,
    system: { ...system, clock: { ...clock, sleep: async () => {} } },
    ...table.state,
    run: async (until, isOver) => {
      await timeline.run(until, withoutCircles(timeline, isOver))
      const [error] = errors.splice(0)
      if (error !== undefined) throw error
    },
  }
}

/** Executes dispatches, each in a process of its own. Returns whether the dispatch is served. */
function createExecutor(
  byType: ReadonlyMap<string, TaskDefinition>,
  handlers: HandlerServer,
  aProcess: () => Sandbox,
  system: () => System,
): (dispatch: Dispatch) => Promise<boolean> {
  let served = 0
  return async ({ delaySeconds: _delay, ...dispatch }) => {
    const definition = byType.get(workOf(dispatch.task).type)
    if (!definition) return true
    served += 1
    const sandbox = aProcess()
    const own = sandbox.systemOf(system())
    const claimer = { workerId: invocationWorkerId(String(served).padStart(6, '0')) }
    const failed = await serveDispatches(own, [{ messageId: 'only', ...dispatch }], claimer, {
      definition: handlers.serving(definition, sandbox),
      typeOf: cachedTypeReader(own),
      stopAt: Number.POSITIVE_INFINITY,
    })
    return failed.length === 0
  }
}

function sortedLog({ log, onHandlerLine }: WorldSettings, handlers: HandlerServer): Log {
  const line =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) => {
      if (handlers.isLogging()) onHandlerLine(level, message, fields)
      log[level](message, fields)
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** Throws when time does not move although events happen and happen. */
function withoutCircles(
  timeline: Timeline,
  isOver: () => boolean | Promise<boolean> = () => false,
): () => boolean | Promise<boolean> {
  let time = timeline.now()
  let since = timeline.count()
  return () => {
    if (timeline.now() !== time) {
      time = timeline.now()
      since = timeline.count()
    }
    if (timeline.count() - since > EVENTS_AT_ONCE_MAX) {
      const at = new Date(time).toISOString()
      throw new BatonError(
        'refused',
        `tasks cause each other without end at ${at}: no time passes between them`,
      )
    }
    return isOver()
  }
}

type Watched = { readonly store: TaskStore; readonly state: Pick<World, 'heads' | 'open' | 'takeChanged'> }

/** The store, which reports each written head. */
function watchedTasks(store: TaskStore, push: (head: Head) => void): Watched {
  const heads = new Map<string, Head>()
  const open = new Map<string, Task>()
  let changed = new Set<string>()
  const note = (head: Head) => {
    heads.set(head.id, head)
    changed.add(head.id)
    if (isTask(head) && (head.state === 'open' || head.owes)) open.set(head.id, head)
    else open.delete(head.id)
  }
  return {
    store: {
      ...store,
      apply: async change => {
        const applied = await store.apply(change)
        const head = applied.applied ? await store.head(change.after.id) : undefined
        if (head) {
          note(head)
          push(head)
        }
        return applied
      },
    },
    state: {
      heads,
      open,
      takeChanged: () => {
        const taken = changed
        changed = new Set()
        return taken
      },
    },
  }
}
