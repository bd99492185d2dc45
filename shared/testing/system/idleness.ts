import { BatonError } from '../../core/errors.ts'
import { needsAttention } from '../../core/flow/flow.ts'
import { type StatusReason, statusOf, statusReasonOf } from '../../core/status/status.ts'
import { isCanvas } from '../../core/task/head.ts'
import { workOf } from '../../core/task/piece.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import { readServed, type StatusReaders } from '../../runtime/read/read.ts'
import type { World } from '../world/world.ts'

/** Reasons for a wait that time alone does not end. */
const ENDLESS: ReadonlySet<StatusReason | undefined> = new Set([
  'paused',
  'no-worker',
  'no-handler',
  'target-worker',
])

/** Lets time pass until no task continues by itself. Schedules tick for ever and do not count, but the tasks of their ticks do. */
export function createIdleness(
  world: World,
  readers: StatusReaders,
): { run(withinMs: number): Promise<void> } {
  const { timeline, open, heads } = world
  const goesOn = async (task: Task): Promise<boolean> => {
    if (liveRuns(task).length > 0) return true
    if (needsAttention(task)) return false
    const reason = statusReasonOf(task, timeline.now(), await readServed(readers, task))
    if (task.state !== 'open') return reason !== undefined
    const isForClaim = workOf(task).kind === 'http' && reason === undefined && task.dueAt <= timeline.now()
    return !isForClaim && !ENDLESS.has(reason)
  }
  const runningCanvas = () => [...heads.values()].some(head => isCanvas(head) && head.state === 'open')
  const isIdle = async () => {
    for (const task of open.values()) if (await goesOn(task)) return false
    return open.size > 0 || !runningCanvas()
  }
  return {
    run: async withinMs => {
      const until = timeline.now() + withinMs
      // Everything that happens at the present time comes first: it may open more tasks.
      await world.run(timeline.now())
      if (await isIdle()) return
      let isOver = false
      await world.run(until, async () => {
        if (timeline.next() > timeline.now()) isOver = await isIdle()
        return isOver
      })
      if (!isOver && !(await isIdle())) throw stillOpen([...open.values()], withinMs, timeline.now())
    },
  }
}

const NAMED_MAX = 5

function stillOpen(tasks: readonly Task[], withinMs: number, now: number): BatonError {
  const named = tasks
    .slice(0, NAMED_MAX)
    .map(task => `${task.id} (${task.state === 'open' ? statusOf(task, now) : task.state})`)
  const more = tasks.length > named.length ? ` and ${tasks.length - named.length} more` : ''
  return new BatonError(
    'refused',
    `tasks are still open after ${withinMs} ms: ${named.join(', ')}${more}; for tasks that continue for ever use advance(…)`,
  )
}
