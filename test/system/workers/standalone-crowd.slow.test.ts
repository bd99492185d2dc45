import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { aLocalSystem, type LocalSystem } from '../../support/local-system/local-system.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

const PROCESSES = 4
const WORKERS_EACH = 25
const CROWD = PROCESSES * WORKERS_EACH
/** A run sends its first heartbeat this long after its claim. With `heartbeatMs` of this test, the next one is due much later. */
const FIRST_BEAT_MS = 1_500

const system = aLocalSystem()
const children: ChildProcess[] = []
let begun = 0

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
})

function startProcess(nth: number): void {
  const { cloud } = system
  const child = fork('test/support/workers/crowd-process.ts', [`p${nth}`, String(WORKERS_EACH)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...{ PATH: process.env.PATH, ...cloud.environment, AWS_ACCESS_KEY_ID: 'crowd' },
      BATON_TABLE: String(cloud.outputs.TableName),
      BATON_SYSTEM: 'Baton',
      BATON_WAKE_QUEUE_URL: cloud.resource('AWS::SQS::Queue', 'MessagesWakeQueue').physicalId,
    },
  })
  child.on('message', message => {
    if (message === 'begun') begun += 1
  })
  children.push(child)
}

/**
 * The writes of heads that the workers have sent since `before`, failed ones included. Puts are not counted: each result is a put,
 * and so is each announcement of a worker, which follows the clock.
 */
function writesSince(before: ReturnType<LocalSystem['cloud']['meter']['snapshot']>) {
  const lines = system.cloud.meter.since(before)
  const writes = lines.filter(
    ({ service, operation, caller }) =>
      service === 'dynamodb' && operation === 'UpdateItem' && caller === 'crowd',
  )
  return totalOf(writes)
}

it('100 standalone workers that finish one task at one moment all succeed, with at most three writes each', async () => {
  const claiming = system.cloud.meter.snapshot()
  for (let nth = 0; nth < PROCESSES; nth++) startProcess(nth)
  const publishedAt = Date.now()
  const id = await system.publish({
    type: 'video',
    key: 'crowd',
    concurrency: CROWD,
    retry: { maxRetries: 0 },
    leaseMs: 600_000,
    heartbeatMs: 300_000,
  })
  await expect.poll(() => begun, { timeout: 240_000, interval: 100 }).toBe(CROWD)
  measured(`${CROWD} standalone workers have begun one task`, Date.now() - publishedAt)
  measured('their writes', writesSince(claiming).calls)
  await sleep(2 * FIRST_BEAT_MS)

  const finishing = system.cloud.meter.snapshot()
  for (const child of children) child.send('open')
  const task = await system.taskWhen(id, ({ status }) => status === 'succeeded')
  const { calls, failedWriteUnits } = writesSince(finishing)
  measured('writes of the head by their finishes', calls)
  measured('write units that failed', failedWriteUnits)

  expect(task.runs.map(({ state }: { state: string }) => state)).toEqual(Array(CROWD).fill('succeeded'))
  expect(task.attempts).toEqual({ used: CROWD, left: 0 })
  // Each result is one more write.
  expect(calls + CROWD).toBeLessThanOrEqual(3 * CROWD)
}, 300_000)
