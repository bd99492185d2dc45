import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { dynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from '../../support/dynamo/dynamodb-local.ts'
import { aLocalSystem, type LocalSystem } from '../../support/local-system/local-system.ts'
import { type OddRequest, oddPublishes, oddRequests } from '../../support/odd/odd-requests.ts'
import { faultOf, sendOddRequests, surviveOddTasks } from '../../support/odd/odd-search.ts'

const TIMEOUT_MS = 600_000

describe('the API in memory', () => {
  it('answers 20,000 odd requests without a fault of ours', { timeout: TIMEOUT_MS }, async () => {
    const { faults, accepted } = await sendOddRequests({ requests: 20_000, seed: 100 })

    expect(faults).toEqual([])
    expect(accepted).toBeGreaterThan(1_000)
  })

  it('works on after 2,000 odd requests were accepted', { timeout: TIMEOUT_MS }, async () => {
    expect(await surviveOddTasks({ accepted: 2_000, seed: 200 })).toEqual({ faults: [], accepted: 2_000 })
  })
})

describe('the API on DynamoDB', () => {
  let dynamo: DynamoDbLocal
  beforeAll(async () => {
    dynamo = await startDynamoDbLocal()
  })
  afterAll(() => dynamo?.stop())
  const stores = async () => dynamoStores(dynamo.client(), await dynamo.createTable())

  it('answers 3,000 odd requests without a fault of ours', { timeout: TIMEOUT_MS }, async () => {
    expect((await sendOddRequests({ requests: 3_000, seed: 300, stores })).faults).toEqual([])
  })

  it('works on after 300 odd requests were accepted', { timeout: TIMEOUT_MS }, async () => {
    expect(await surviveOddTasks({ accepted: 300, seed: 400, stores })).toEqual({ faults: [], accepted: 300 })
  })
})

describe('the local system, over HTTP', () => {
  const system = aLocalSystem({}, TIMEOUT_MS)
  beforeAll(async () => {
    const limits = { concurrency: { max: 50, key: 'tenant' } }
    await system.call('PUT', '/v1/types/jobs', { kind: 'http', limits })
  }, TIMEOUT_MS)

  it('answers 1,500 odd requests without a fault, and still runs a later task', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const odd = fc.sample(oddRequests(ALL_OPERATIONS), { numRuns: 1_000, seed: 500 })
    const tasks = fc.sample(oddPublishes, { numRuns: 500, seed: 600 })
    const faults: string[] = []
    for (const request of [...odd, ...tasks].filter(isAnsweredSoon))
      faults.push(...(await faultsOver(system, request)))
    expect(faults).toEqual([])

    await system.call('POST', '/v1/types/jobs/resume')
    await system.call('POST', '/v1/types/probe/resume')
    const id = await system.publish({ type: 'probe', key: 'after-it-all', input: {} })
    expect(await system.taskWhen(id, ({ status }) => status === 'succeeded', 60_000)).toMatchObject({
      status: 'succeeded',
    })
    for (const path of [
      '/v1/tasks?type=jobs&limit=100',
      '/v1/types/jobs/counts',
      '/v1/types',
      '/v1/schedules',
    ]) {
      expect(await system.call('GET', path)).toMatchObject({ status: 200 })
    }
    const claims = await system.call('POST', '/v1/claims', { type: 'jobs', workerId: 'checker', limit: 100 })
    expect([200, 409]).toContain(claims.status)
  })
})

/** Whether the answer ends soon: it is neither an event stream nor a claim that waits for work. */
function isAnsweredSoon({ target, body }: OddRequest): boolean {
  return !target.startsWith('/v1/events') && !body?.includes('waitMs')
}

async function faultsOver({ cloud }: LocalSystem, request: OddRequest): Promise<string[]> {
  const { method, target, headers, body } = request
  const sent = { method, headers, ...(body !== undefined && { body }) }
  const response = await fetch(new URL(target, cloud.apiUrl), sent)
  const type = response.headers.get('content-type') ?? ''
  const fault = faultOf(request, { status: response.status, type, text: await response.text() })
  return fault === undefined ? [] : [`${fault}: ${method} ${target} ${body?.slice(0, 500)}`]
}
