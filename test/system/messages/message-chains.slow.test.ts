import { expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

/** Enough tasks to exceed the bound if each task made the chain longer. */
const TASKS = 60
const RUN_MS = 500
/** A read of the counts takes 28 queries. More reads would slow down the measured system. */
const POLL_MS = 2_000
/** Lambda's bound. The local cloud refuses the next invocation, too. */
const CHAIN_INVOCATIONS_MAX = 16

const system = aLocalSystem()

it('60 tasks of an ordered type run one by one, and no function is invoked 17 times in one chain of messages', async () => {
  const { cloud, call } = system
  const configuration = { kind: 'handler', ordering: 'priority', limits: { concurrency: { max: 1 } } }
  await call('PUT', '/v1/types/probe', configuration)
  const tasks = Array.from({ length: TASKS }, (_, nth) => ({
    type: 'probe',
    key: `k${nth}`,
    priority: nth % 7,
    input: { sleepMs: RUN_MS },
  }))

  await call('POST', '/v1/tasks/batch', { tasks })
  await succeeded(TASKS)
  const spans = await Promise.all(tasks.map(({ key }) => spanOf(key)))
  const from = Math.min(...spans.map(span => span.from))
  const tookMs = Math.max(...spans.map(span => span.to)) - from
  measured(`${TASKS} runs of ${RUN_MS} ms, one at a time`, tookMs)

  const chains = cloud.functions.all().map(one => ({
    function: one.logicalId,
    isAllowed: one.logicalId.startsWith('TasksWaker'),
    longest: one.longestChain(),
    dropped: one.recursionsDropped(),
  }))
  expect(chains.filter(({ dropped }) => dropped > 0)).toEqual([])
  expect(chains.filter(({ longest, isAllowed }) => longest > CHAIN_INVOCATIONS_MAX && !isAllowed)).toEqual([])
}, 240_000)

async function spanOf(key: string): Promise<{ from: number; to: number }> {
  const { body } = await system.call('GET', `/v1/tasks/probe:${key}`)
  return { from: Date.parse(body.startedAt), to: Date.parse(body.finishedAt) }
}

/** Waits until `count` tasks have succeeded. */
async function succeeded(count: number): Promise<void> {
  for (const end = Date.now() + 220_000; Date.now() < end; ) {
    const { body } = await system.call('GET', '/v1/types/probe/counts')
    if (body.succeeded === count) return
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`not all ran: ${JSON.stringify((await system.call('GET', '/v1/types/probe/counts')).body)}`)
}
