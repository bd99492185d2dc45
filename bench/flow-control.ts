import { hasEnded } from '../test/support/local-system/local-system.ts'
import type { WorkerFleet } from '../test/support/workers/worker-fleet.ts'
import type { Row } from './row.ts'

const STARTS_PER_SECOND = 20
const RATED_TASKS = 100
const CONCURRENCY = 5
const PERMIT_TASKS = 100
const RUN_MS = 100

/**
 * Measures limits on a worker. Each row has a control without a limit: tasks that fall due at the same rate, or a worker with the
 * same concurrency.
 */
export async function flowControlRows(fleet: WorkerFleet): Promise<Row[]> {
  const { aWorker } = fleet
  const worker = await aWorker(['--concurrency', '400'])
  const rated = await spanOf(fleet, 'rated', RATED_TASKS, {
    rate: { limit: STARTS_PER_SECOND, perMs: 1_000 },
  })
  const from = Date.now() + 2_000
  const spaced = await spanOf(fleet, 'spaced', RATED_TASKS, {}, nth => ({
    // The rate limit starts all tasks of a second at once. The control therefore makes them due at once.
    dueAt: new Date(from + Math.floor(nth / STARTS_PER_SECOND) * 1_000).toISOString(),
  }))
  worker.signal('SIGTERM')
  await worker.ended

  const input = { sleepMs: RUN_MS }
  const wide = await aWorker(['--concurrency', `${4 * CONCURRENCY}`])
  const limited = await spanOf(fleet, 'permit', PERMIT_TASKS, { concurrency: { max: CONCURRENCY } }, () => ({
    input,
  }))
  wide.signal('SIGTERM')
  await wide.ended
  await aWorker(['--concurrency', `${CONCURRENCY}`])
  const narrow = await spanOf(fleet, 'narrow', PERMIT_TASKS, {}, () => ({ input }))
  return [
    {
      name: `${RATED_TASKS} tasks under a limit of ${STARTS_PER_SECOND} starts a second: first start to last`,
      value: rated,
      control: {
        name: `as many tasks without a limit, ${STARTS_PER_SECOND} due in each second`,
        value: spaced,
      },
    },
    {
      name: `${PERMIT_TASKS} tasks of ${RUN_MS} ms under a limit of ${CONCURRENCY} at once: first start to last`,
      value: limited,
      control: { name: `a worker with a concurrency of ${CONCURRENCY}, without a limit`, value: narrow },
    },
  ]
}

/** Publishes `count` tasks and returns the time from the first start to the last. */
async function spanOf(
  { system }: WorkerFleet,
  prefix: string,
  count: number,
  limits: object,
  more: (nth: number) => object = () => ({}),
): Promise<number> {
  await system.call('PUT', '/v1/types/clip', { kind: 'handler', limits })
  const tasks = Array.from({ length: count }, (_, nth) => {
    return { type: 'clip', key: `${prefix}-${nth}`, input: {}, ...more(nth) }
  })
  await system.call('POST', '/v1/tasks/batch', { tasks })
  const starts: number[] = []
  for (const { key } of tasks)
    starts.push(Date.parse((await system.taskWhen(`clip:${key}`, hasEnded)).startedAt))
  return Math.max(...starts) - Math.min(...starts)
}
