import { beforeAll, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { sideBySide } from '../../../shared/runtime/kernel/heads.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'

const TASKS = scaled(1_000, 2_000)
const CLIENTS = 20
const PER_CLAIM = 50
const TYPE = 'contended'

const system = aLocalSystem()

beforeAll(async () => {
  await system.call('PUT', `/v1/types/${TYPE}`, { kind: 'http', defaults: { leaseMs: 600_000 } })
  const tasks = Array.from({ length: TASKS }, (_, n) => ({ type: TYPE, key: `${n}`, priority: n % 7 }))
  const batches = Array.from({ length: TASKS / 100 }, (_, n) => tasks.slice(n * 100, (n + 1) * 100))
  await sideBySide(batches, 4, batch => system.call('POST', '/v1/tasks/batch', { tasks: batch }))
})

type Answer = ReadonlyArray<{ readonly id: string; readonly priority: number }>

/** Claims until no task is left. Returns the tasks of each answer. */
async function claimAll(workerId: string): Promise<Answer[]> {
  const answers: Answer[] = []
  for (;;) {
    const { status, body } = await system.call('POST', '/v1/claims', {
      type: TYPE,
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
  const before = system.cloud.meter.snapshot()

  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, (_, client) => claimAll(`client-${client}`)),
  )

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
