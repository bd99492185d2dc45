import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, it } from 'vitest'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { aTask } from '../../support/tasks/a-task.ts'

/** The lease of tasks whose runs are to be lost. */
const LEASE_MS = 2_000
const MANY = scaled(60, 300)

const system = aLocalSystem()

beforeAll(async () => {
  await system.cloud.functions.find('Probe').warm(2)
})

/** The states of a task's runs, without runs that a busy machine lost or released. */
// biome-ignore lint/suspicious/noExplicitAny: as above
const undisturbed = ({ runs }: any): string[] =>
  runs
    .map(({ state }: { state: string }) => state)
    .filter((state: string) => !['lost', 'released'].includes(state))

describe('publishing', () => {
  it(`creates and runs each of ${MANY} tasks once, although each is published twice under its key`, async () => {
    const tasks = Array.from({ length: MANY }, (_, i) => ({
      type: 'probe',
      key: `twice-${i}`,
      input: { report: system.reportUrl },
      // If the answer to a claim is lost, the run ends with its lease. This test waits longer than that.
      leaseMs: 60_000,
    }))
    const batches = [0, 1, 2].map(nth => tasks.slice((nth * MANY) / 3, ((nth + 1) * MANY) / 3))

    const answers = await Promise.all(
      [...batches, ...batches].map(batch => system.call('POST', '/v1/tasks/batch', { tasks: batch })),
    )
    const done = []
    for (const { key } of tasks) done.push(await system.taskWhen(`probe:${key}`, hasEnded))

    const results = answers.flatMap(({ body }) => body.results)
    expect(results.filter(({ created }) => created)).toHaveLength(MANY)
    expect(results.filter(({ status }) => status === 200)).toHaveLength(MANY)
    // A machine may be so busy that requests time out and a run is lost. Nothing else may begin a second run.
    expect(done.map(undisturbed)).toEqual(tasks.map(() => ['succeeded']))
    const starts = system.reports.filter(({ event, key }) => event === 'started' && key.startsWith('twice-'))
    expect(new Set(starts.map(({ key }) => key)).size).toBe(MANY)
    expect(new Set(starts.map(({ runId }) => runId)).size).toBe(starts.length)
    expect(starts.length).toBeLessThanOrEqual(done.flatMap(({ runs }) => runs).length)
  })
})

describe('a task that takes its process down', () => {
  it('costs the tasks in the same process at most one retry', async () => {
    const probe = system.cloud.mapping('Probe')
    probe.pause()
    const retry = { maxRetries: 2, backoff: 'fixed', delayMs: 50 }
    await system.publish({
      ...{ type: 'probe', key: 'poison', input: { failures: 9, how: 'exit' }, retry },
      leaseMs: LEASE_MS,
    })
    const innocent = Array.from({ length: 6 }, (_, i) => ({
      type: 'probe',
      key: `innocent-${i}`,
      input: { sleepMs: 100 },
      leaseMs: 5_000,
    }))
    await system.call('POST', '/v1/tasks/batch', { tasks: innocent })

    probe.resume()
    const tasks = await Promise.all(innocent.map(({ key }) => system.taskWhen(`probe:${key}`, hasEnded)))
    const poison = await system.taskWhen('probe:poison', hasEnded)

    expect(tasks.map(({ status }) => status)).toEqual(innocent.map(() => 'succeeded'))
    expect(Math.max(...tasks.map(({ attempts }) => attempts.used))).toBeLessThanOrEqual(2)
    expect(poison).toMatchObject({ status: 'failed', attempts: { used: 3, left: 0 } })
  })
})

describe('a running handler', () => {
  it('is started once when the answer to its claim is lost', async () => {
    const remove = system.cloud.faults.add({
      caller: system.cloud.functions.find('Probe').logicalId,
      service: 'dynamodb',
      operation: 'UpdateItem',
      action: 'fail-after',
      times: 1,
    })

    const id = await system.publish({
      type: 'probe',
      key: 'lost-answer',
      // No lease ends within the test, however slow the machine is.
      leaseMs: 600_000,
      input: { report: system.reportUrl },
    })
    const task = await system.taskWhen(id, hasEnded)

    expect(remove()).toBe(1)
    expect(task).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
    expect(task.runs).toHaveLength(1)
    expect(
      system.reports.filter(({ key, event }) => key === 'lost-answer' && event === 'started'),
    ).toHaveLength(1)
  })
})

describe('lost and doubled messages', () => {
  it('change nothing when each batch of the stream is delivered twice', async () => {
    const planner = system.cloud.mapping('Planner')
    planner.repeat(2)
    const keys = Array.from({ length: 10 }, (_, i) => `again-${i}`)

    await Promise.all(
      keys.map(key => system.publish({ type: 'probe', key, input: { report: system.reportUrl } })),
    )
    const tasks = await Promise.all(keys.map(key => system.taskWhen(`probe:${key}`, hasEnded)))
    planner.repeat(1)
    await sleep(200)

    expect(tasks.map(({ runs }) => runs.length)).toEqual(keys.map(() => 1))
    const starts = system.reports.filter(({ event, key }) => event === 'started' && key.startsWith('again-'))
    expect(starts).toHaveLength(keys.length)
  })

  it('of a removed task do not change a later task with its key, nor does a timer or a worker of the removed task', async () => {
    // No retry falls due within the test, so only messages of the removed task could begin a run.
    const later = { retry: { maxRetries: 3, backoff: 'fixed', delayMs: 3_600_000 } }
    const publication = { type: 'probe', key: 'reborn', leaseMs: LEASE_MS, ...later }
    const id = await system.publish({
      ...publication,
      input: { report: system.reportUrl, sleepMs: 60_000, ignoreSignal: true },
    })
    const zombie = await system.reportWhen(({ key, event }) => key === 'reborn' && event === 'started')
    expect((await system.call('DELETE', `/v1/tasks/${id}`)).status).toBe(204)
    const delayed = await system.publish({
      ...publication,
      input: { report: system.reportUrl },
      delayMs: 1_000,
    })
    expect((await system.call('DELETE', `/v1/tasks/${delayed}`)).status).toBe(204)

    await system.publish({ ...publication, input: { report: system.reportUrl }, delayMs: 3_600_000 })
    const finish = await system.call('POST', `/v1/tasks/${id}/runs/${zombie.runId}/succeed`, {
      fence: zombie.fence,
    })
    const beat = await system.call('POST', `/v1/tasks/${id}/runs/${zombie.runId}/heartbeat`, {
      fence: zombie.fence,
    })
    // The lease of the first task and the delay of the second end in this time. A message left of them would start a run.
    await sleep(LEASE_MS + 1_800)
    const waiting = (await system.call('GET', `/v1/tasks/${id}`)).body
    await system.call('PATCH', `/v1/tasks/${id}`, { delayMs: 0, leaseMs: 600_000 })
    const done = await system.taskWhen(id, hasEnded)

    expect([finish.status, finish.body.reason]).toEqual([409, 'removed'])
    expect([beat.status, beat.body.reason]).toEqual([409, 'removed'])
    expect(waiting).toMatchObject({ status: 'delayed', attempts: { used: 0 }, runs: [] })
    expect(done).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
    expect(done.runs).toHaveLength(1)
    const starts = system.reports.filter(({ key, event }) => key === 'reborn' && event === 'started')
    expect(starts.map(({ attempt }) => attempt)).toEqual([1, 1])
  })
})

describe('a record of the stream that cannot be read', () => {
  it('is skipped and counted, and does not hold up the changes after it', async () => {
    const documents = DynamoDBDocumentClient.from(new DynamoDBClient(system.cloud.clientOptions))
    const head = headItem(aTask({ type: 'probe', key: 'unreadable' }))
    const put = new PutCommand({
      TableName: String(system.cloud.outputs.TableName),
      Item: { ...head, v: 99 },
    })

    await documents.send(put)
    // A retry needs the planner twice.
    const ids = await Promise.all(
      Array.from({ length: 8 }, (_, nth) =>
        system.publish({ type: 'probe', key: `after-${nth}`, input: { failures: 1 } }),
      ),
    )
    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded)))

    expect(tasks.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'))
    const logged = () => system.cloud.functions.find('Planner').logs.join('\n')
    await expect.poll(logged).toMatch(/skipped a record of the stream.*probe:unreadable/)
    await expect.poll(logged).toContain('"TaskFault"')
  })
})
