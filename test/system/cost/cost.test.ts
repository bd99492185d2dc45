import { beforeAll, expect, it } from 'vitest'
import { prices } from '../../../local/gateway/meter.ts'
import { unitsOf as unitsIn } from '../../support/dynamo/unit-bill.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const system = aLocalSystem()

beforeAll(async () => {
  // The sweeper writes once a minute, and no task causes that.
  system.cloud.scheduler.disable('Sweep')
})

/** The planner writes nothing for a plain task but the count of its activity, which other tasks share. */
const isOfActivity = ({ caller }: { readonly caller: string }) =>
  caller === system.cloud.functions.find('Planner').logicalId
const unitsOf = (work: () => Promise<unknown>) => unitsIn(system, work, line => !isOfActivity(line))

async function runOne(key: string, input: unknown) {
  const id = await system.publish({ type: 'word-count', key, input })
  await system.cloud.functions.find('WordCount').warm(1)
  await system.taskWhen(id, ({ status }) => status === 'succeeded')
}

it('a plain task costs exactly 6 write units, indexes included', async () => {
  const { writeUnits, failedWriteUnits } = await unitsOf(() =>
    runOne('plain', { text: 'to be or not to be' }),
  )

  expect({ writeUnits, failedWriteUnits }).toEqual({ writeUnits: 6, failedWriteUnits: 0 })
})

it('the cost of a plain task has its own units, requests and invocations', async () => {
  const bill = await unitsOf(() => runOne('charged', { text: 'to be or not to be' }))
  const { body } = await system.call('GET', '/local/cost?task=word-count:charged')
  const { writeUnits, apiRequests, invocations, sqsRequests, gbMs } = body.usage

  expect(writeUnits).toBe(bill.writeUnits)
  // The reads by which this test waits are requests, too.
  expect(apiRequests).toBeGreaterThanOrEqual(1)
  // A publish, its dispatch to the executor, and the changes at the planner, where a batch of the stream is one invocation.
  expect(invocations).toBeGreaterThanOrEqual(apiRequests + 1)
  // A dispatch is sent, received and deleted.
  expect(sqsRequests).toBeGreaterThanOrEqual(3)
  expect(gbMs).toBeGreaterThan(0)
  expect(body.usd).toBeGreaterThan(6 * prices.writeUnit)
})

it('the activity of a lone task costs 1 write unit, or 2 if it begins and ends in different minutes', async () => {
  const { writeUnits } = await unitsIn(system, () => runOne('alone', { text: 'to be' }), isOfActivity)

  expect([1, 2]).toContain(writeUnits)
})

it('a task with a user, tags and a retry policy of its own costs 7 write units: 1 more for the index of its user', async () => {
  const { writeUnits } = await unitsOf(async () => {
    const id = await system.publish({
      type: 'word-count',
      key: 'with-metadata-0123456789012345678901234567890123456789',
      input: { text: 'to be or not to be' },
      userId: 'user-0123456789',
      tags: { tenant: 'acme', origin: 'import' },
      priority: 7,
      retry: { maxRetries: 5, backoff: 'ladder', delaysMs: [1_000, 5_000, 60_000] },
      deadlineMs: 600_000,
    })
    await system.taskWhen(id, ({ status }) => status === 'succeeded')
  })

  expect(writeUnits).toBe(7)
})

it('the claim, heartbeat and finish of a task cost the same with 50 KB of input as with 0.5 KB', async () => {
  const type = 'costs'
  await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  // A worker announces itself every ten seconds by a put of 1 unit. The puts follow the clock, not the task.
  const unitsOfTask = async (work: () => Promise<unknown>) => {
    const before = system.cloud.meter.snapshot()
    const units = await unitsIn(system, work, line => line.operation !== 'PutItem' && !isOfActivity(line))
    const put = system.cloud.meter.since(before).filter(({ operation }) => operation === 'PutItem')
    for (const line of put) expect(line.writeUnits).toBe(line.calls)
    return units
  }
  const costs = []
  for (const size of [500, 50_000]) {
    await system.publish({ type, key: `input-${size}`, input: 'x'.repeat(size) })
    const units = []
    let claim: { task: { id: string; input: string }; run: { id: string; fence: number } } | undefined
    units.push(
      await unitsOfTask(async () => {
        claim = (await system.call('POST', '/v1/claims', { type, workerId: 'w', limit: 1 })).body.claims[0]
      }),
    )
    expect(claim?.task.input).toHaveLength(size)
    const run = `/v1/tasks/${claim?.task.id}/runs/${claim?.run.id}`
    units.push(await unitsOfTask(() => system.call('POST', `${run}/heartbeat`, { fence: claim?.run.fence })))
    units.push(await unitsOfTask(() => system.call('POST', `${run}/succeed`, { fence: claim?.run.fence })))
    costs.push(units.map(({ writeUnits }) => writeUnits))
  }

  expect(costs[1]).toEqual(costs[0])
  expect(costs[0]?.[1]).toBe(1)
})

it('the planner counts the outcome of each task once, in metrics for all types together', async () => {
  const names = ['Published', 'Succeeded', 'Failed', 'Retried'] as const
  const counted = () => {
    const logged = system.cloud.functions.find('Planner').logs.filter(line => line.startsWith('{"_aws"'))
    const lines = logged.map(line => JSON.parse(line)).filter(({ type }) => type === '*')
    return names.map(name => lines.flatMap(line => line[name] ?? []).reduce((sum, one) => sum + one, 0))
  }
  const before = counted()

  const ids = await Promise.all([
    system.publish({ type: 'word-count', key: 'counted', input: { text: 'to be' } }),
    system.publish({ type: 'probe', key: 'refused', input: { failures: 1, how: 'fatal' } }),
    system.publish({ type: 'probe', key: 'retried', input: { failures: 2 } }),
  ])
  for (const id of ids) await system.taskWhen(id, ({ status }) => ['succeeded', 'failed'].includes(status))

  await expect.poll(() => counted().map((count, at) => count - (before[at] ?? 0))).toEqual([3, 2, 1, 2])
})
