import { MINUTE_LEAD_MS } from '../../core/bounds.ts'
import type { LimitChange } from '../../core/limits/line.ts'
import type { Head } from '../../core/task/head.ts'
import { workOf } from '../../core/task/piece.ts'
import { servingType } from '../../core/types/task-type.ts'
import type { Dispatch, FarTimers, Messages, Wake } from '../../ports/messages.ts'
import type { PlanningSystem } from '../../runtime/kernel/system.ts'
import { planLimits } from '../../runtime/limits/begin-looks.ts'
import { planChanges } from '../../runtime/stream/stream.ts'
import { serveWakes } from '../../runtime/wake.ts'
import type { Timeline } from './timeline.ts'

/**
 * The queues, the far timers and the table's stream in memory, with their receivers: the planner reads the stream, the waker
 * the wake and jobs queues, and `execute` the queues of the types. Nothing is lost, doubled or late here, so no sweeper runs.
 */
export type Queues = {
  readonly messages: Messages
  readonly timers: FarTimers
  /** Brings a written head to the planner, in the order of the writes. */
  push(head: Head): void
  pushLimit(change: LimitChange): void
}

type Receivers = {
  readonly timeline: Timeline
  /** The system of the planner and the waker. */
  readonly system: () => PlanningSystem
  /** Whether a handler serves the type. */
  readonly isServed: (type: string) => boolean
  /** Serves a dispatch. Returns false when the queue must deliver it again. */
  readonly execute: (dispatch: Dispatch) => Promise<boolean>
  /** Starts work of a receiver, and records its error. */
  readonly run: (work: () => Promise<void>) => void
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** A message that was not served is delivered again after this time. */
const AGAIN_AFTER_MS = 30_000
const STREAM_AGAIN_AFTER_MS = 1_000
const STREAM_BATCH_MAX = 100
/** An invocation works this long on jobs and canvases, as the jobs function does. */
const WORK_MS_MAX = 25_000

export function createQueues(receivers: Receivers): Queues {
  const { timeline } = receivers
  const after = (delaySeconds: number, happen: () => void) =>
    void timeline.at(timeline.now() + delaySeconds * SECOND_MS, happen)
  return {
    messages: createMessages(receivers, after),
    timers: createTimers(receivers),
    ...createStream(receivers),
  }
}

type After = (delaySeconds: number, happen: () => void) => void

function createMessages({ system, isServed, execute, timeline, run }: Receivers, after: After): Messages {
  const deliver = (dispatch: Dispatch) =>
    run(async () => {
      if (!(await execute(dispatch))) timeline.at(timeline.now() + AGAIN_AFTER_MS, () => deliver(dispatch))
    })
  const wake = waker({ system, timeline, run })
  const wakeAll = <Sent extends { readonly delaySeconds: number }>(
    sent: readonly Sent[],
    of: (one: Sent) => Wake,
  ) => {
    for (const one of sent) after(one.delaySeconds, () => wake(of(one)))
    return Promise.resolve([])
  }
  return {
    dispatch: async dispatches => {
      for (const one of dispatches) {
        const { type, kind } = workOf(one.task)
        if (isServed(servingType(type, kind))) after(one.delaySeconds, () => deliver(one))
      }
      return []
    },
    look: looks => wakeAll(looks, look => ({ kind: 'look', look })),
    lookAtMinute: async look => after(0, () => wake({ kind: 'minute-shard', look })),
    lookAtCanvases: looks => wakeAll(looks, look => ({ kind: 'canvas', look })),
    continueJobs: looks => wakeAll(looks, look => ({ kind: 'job', look })),
    lookAtLimits: looks => wakeAll(looks, look => ({ kind: 'limit', look })),
    backlog: async type => (isServed(type) ? 0 : undefined),
    waitingJobs: async () => 0,
  }
}

function waker({
  system,
  timeline,
  run,
}: Pick<Receivers, 'system' | 'timeline' | 'run'>): (wake: Wake) => void {
  let received = 0
  const serve = (wake: Wake) => {
    received += 1
    const messageId = String(received)
    run(async () => {
      const failed = await serveWakes(system(), [{ messageId, wake }], timeline.now() + WORK_MS_MAX)
      if (failed.length > 0) timeline.at(timeline.now() + AGAIN_AFTER_MS, () => serve(wake))
    })
  }
  return serve
}

function createTimers({ system, timeline, run }: Receivers): FarTimers {
  const minutes = new Set<number>()
  const wake = waker({ system, timeline, run })
  return {
    ensureMinute: async minute => {
      if (minutes.has(minute)) return
      minutes.add(minute)
      timeline.at(minute * MINUTE_MS - MINUTE_LEAD_MS, () => {
        minutes.delete(minute)
        wake({ kind: 'minute', minute })
      })
    },
  }
}

type Change = ({ readonly task: Head } | { readonly limit: LimitChange }) & { readonly position: string }

function createStream({ system, timeline, run }: Receivers): Pick<Queues, 'push' | 'pushLimit'> {
  const waiting: Change[] = []
  let isScheduled = false
  let pushed = 0

  const read = () => {
    isScheduled = false
    const batch = waiting.splice(0, STREAM_BATCH_MAX)
    if (waiting.length > 0) readSoon()
    run(async () => {
      const tasks = batch.filter(change => 'task' in change)
      const limits = batch.flatMap(change => ('limit' in change ? change.limit : []))
      const [failed] = await Promise.all([planChanges(system(), tasks), planLimits(system(), limits)])
      const again = batch.filter(({ position }) => failed.includes(position))
      if (again.length === 0) return
      timeline.at(timeline.now() + STREAM_AGAIN_AFTER_MS, () => {
        waiting.unshift(...again)
        readSoon()
      })
    })
  }
  const readSoon = () => {
    if (isScheduled) return
    isScheduled = true
    timeline.at(timeline.now(), read)
  }
  const add = (change: { readonly task: Head } | { readonly limit: LimitChange }) => {
    pushed += 1
    waiting.push({ ...change, position: String(pushed) })
    readSoon()
  }
  return {
    push: task => {
      if (task.operation !== 'beat') add({ task })
    },
    pushLimit: limit => add({ limit }),
  }
}
