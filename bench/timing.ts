import { setTimeout as sleep } from 'node:timers/promises'
import { hasEnded } from '../test/support/local-system/local-system.ts'
import type { WorkerFleet } from '../test/support/workers/worker-fleet.ts'
import { quantile, type Row } from './row.ts'

const MEASURED_STARTS = 40
const DELAYED_TASKS = 300

/** Measures the time from publish to start of a task on an idle system, for Lambda and for a worker. */
export async function startRows({ system, aWorker }: WorkerFleet): Promise<Row[]> {
  await aWorker()
  const rows: Row[] = []
  for (const [server, type] of [
    ['Lambda', 'probe'],
    ['a worker', 'video'],
  ] as const) {
    const waits: number[] = []
    const calls: number[] = []
    // The first runs are not counted: they start processes and compile code.
    for (let nth = -5; nth < MEASURED_STARTS; nth++) {
      const id = await system.publish({ type, key: `start-${nth}`, input: {} })
      const { createdAt, startedAt } = await system.taskWhen(id, hasEnded)
      const askedAt = performance.now()
      await system.call('GET', `/v1/tasks/${id}`)
      if (nth < 0) continue
      calls.push(performance.now() - askedAt)
      waits.push(Date.parse(startedAt) - Date.parse(createdAt))
    }
    for (const [name, share, max] of [
      ['p50', 0.5, 20],
      ['p99', 0.99, 50],
    ] as const) {
      rows.push({
        name: `idle: publish to start by ${server}, ${name}`,
        value: quantile(waits, share),
        control: { name: 'reading a task over HTTP', value: quantile(calls, share) },
        bound: { of: 'value', max },
      })
    }
  }
  return rows
}

/** Measures how late delayed tasks start. The control is timers of this process that are due at the same times. */
export async function latenessRows({ system, aWorker }: WorkerFleet): Promise<Row[]> {
  await aWorker(['--concurrency', '100'])
  const from = Date.now() + 3_000
  const dueAt = Array.from({ length: DELAYED_TASKS }, () => from + Math.floor(Math.random() * 6_000))
  const tasks = dueAt.map((at, nth) => ({
    ...{ type: 'video', key: `delayed-${nth}`, input: {} },
    dueAt: new Date(at).toISOString(),
  }))
  for (let start = 0; start < DELAYED_TASKS; start += 100)
    await system.call('POST', '/v1/tasks/batch', { tasks: tasks.slice(start, start + 100) })
  const timers = dueAt.map(async at => {
    await sleep(Math.max(0, at - Date.now()))
    return Math.max(0.1, Date.now() - at)
  })
  const timerLateness = await Promise.all(timers)
  const taskLateness: number[] = []
  for (const { key } of tasks) {
    const task = await system.taskWhen(`video:${key}`, hasEnded)
    const lateMs = Date.parse(task.startedAt) - Date.parse(task.dueAt)
    if (lateMs < 0) throw new Error(`video:${key} started ${-lateMs} ms before it was due`)
    taskLateness.push(lateMs)
  }
  return [['p50', 0.5, 20] as const, ['max', 1, 100] as const].map(([name, share, max]) => ({
    name: `${DELAYED_TASKS} delayed tasks on a worker: lateness, ${name}`,
    value: quantile(taskLateness, share),
    control: { name: 'as many timers of one process', value: quantile(timerLateness, share) },
    bound: { of: 'value', max },
  }))
}
