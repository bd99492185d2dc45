import { beforeAll, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { aLocalSystem, type LocalSystem } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

/** Many workers serve one task over HTTP. The test takes some 10 s on the local cloud, and 25 s on a busy machine. */

const CROWD = scaled(40, 100)
const TYPE = 'crowded'

const system = aLocalSystem()

beforeAll(async () => {
  await system.call('PUT', `/v1/types/${TYPE}`, { kind: 'http', defaults: { leaseMs: 600_000 } })
  // These claims register the workers and start the processes of the functions.
  await Promise.all(
    numbered(CROWD, n => system.call('POST', '/v1/claims', { type: TYPE, workerId: `w${n}` })),
  )
})
type Run = { readonly id: string; readonly fence: number }

function numbered<T>(count: number, one: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => one(n))
}

/** The number of conditional writes of heads, failed ones included, and the write units of the failed ones. */
function headWrites(before: ReturnType<LocalSystem['cloud']['meter']['snapshot']>) {
  const lines = system.cloud.meter.since(before)
  // The planner writes no heads here, but counts the activity of the type.
  const planner = system.cloud.functions.find('Planner').logicalId
  const updates = lines.filter(
    ({ operation, service, caller }) =>
      service === 'dynamodb' && operation === 'UpdateItem' && caller !== planner,
  )
  return { calls: totalOf(updates).calls, failedWriteUnits: totalOf(updates).failedWriteUnits }
}

/** Claims one task for a worker. Repeats the claim while the answer is 503 or empty. */
async function claim(workerId: string): Promise<Run> {
  for (;;) {
    const { status, body } = await system.call('POST', '/v1/claims', { type: TYPE, workerId, waitMs: 10_000 })
    expect([200, 503]).toContain(status)
    if (status === 200 && body.claims.length > 0) return body.claims[0].run
  }
}

it('many workers that claim one task at one moment, and then finish it at one moment, all succeed', async () => {
  const id = await system.publish({ type: TYPE, key: 'one', concurrency: CROWD, retry: { maxRetries: 0 } })
  const path = (run: Run) => `/v1/tasks/${encodeURIComponent(id)}/runs/${run.id}/succeed`
  const beforeClaims = system.cloud.meter.snapshot()
  const claimingAt = Date.now()
  const runs = await Promise.all(numbered(CROWD, n => claim(`w${n}`)))
  const claims = headWrites(beforeClaims)
  const claimedMs = Date.now() - claimingAt
  measured(`${CROWD} claims at one moment, ${claims.calls} head writes`, claimedMs)

  const beforeEnds = system.cloud.meter.snapshot()
  const finishingAt = Date.now()
  const ends = await Promise.all(
    runs.map(run => system.call('POST', path(run), { fence: run.fence, result: 'x'.repeat(1_000) })),
  )
  const finishes = headWrites(beforeEnds)
  measured(`${CROWD} finishes at one moment, ${finishes.calls} head writes`, Date.now() - finishingAt)

  expect(new Set(runs.map(({ fence }) => fence)).size).toBe(CROWD)
  expect(claims.calls).toBeLessThanOrEqual(8 * CROWD)
  expect(ends.map(({ status }) => status)).toEqual(numbered(CROWD, () => 200))
  expect(finishes).toEqual({ calls: CROWD + 1, failedWriteUnits: 0 })
  const task = await system.taskWhen(id, ({ status }) => status === 'succeeded')
  expect(task.attempts).toEqual({ used: CROWD, left: 0 })
  expect(task.runs.map(({ state }: { state: string }) => state)).toEqual(numbered(CROWD, () => 'succeeded'))
}, 120_000)

const TASKS = scaled(1_000, 2_000)
const CLIENTS = 20
const PER_CLAIM = 50
const CONTENDED = 'contended'

type Answer = ReadonlyArray<{ readonly id: string; readonly priority: number }>

/** Claims until no task is left. Returns the tasks of each answer. */
async function claimAll(workerId: string): Promise<Answer[]> {
  const answers: Answer[] = []
  for (;;) {
    const { status, body } = await system.call('POST', '/v1/claims', {
      type: CONTENDED,
      workerId,
      limit: PER_CLAIM,
    })
    expect(status).toBe(200)
    if (body.claims.length === 0) return answers
    answers.push(
      body.claims.map(({ task }: { task: Answer[number] }) => ({ id: task.id, priority: task.priority })),
    )
  }
}

it('twenty clients that claim fifty tasks at a time get every task once, and few of their writes fail', async () => {
  await system.call('PUT', `/v1/types/${CONTENDED}`, { kind: 'http', defaults: { leaseMs: 600_000 } })
  await system.publishAll(numbered(TASKS, n => ({ type: CONTENDED, key: `${n}`, priority: n % 7 })))
  const before = system.cloud.meter.snapshot()

  const answers = await Promise.all(numbered(CLIENTS, n => claimAll(`client-${n}`)))

  const { failedWriteUnits } = totalOf(system.cloud.meter.since(before))
  const ids = answers.flat(2).map(({ id }) => id)
  expect(ids).toHaveLength(TASKS)
  expect(new Set(ids).size).toBe(TASKS)
  expect(failedWriteUnits).toBeLessThanOrEqual(TASKS / 2)
  // The order holds within an answer. A later answer may have tasks of the first 500 that other claims left: see `http-claims.ts`.
  for (const answer of answers.flat()) {
    const priorities = answer.map(({ priority }) => priority)
    expect(priorities).toEqual(priorities.toSorted((a, b) => b - a))
  }
}, 90_000)
