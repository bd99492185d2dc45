import { expect, it } from 'vitest'
import { holderIn, SHARD_PERMITS_MAX } from '../../../shared/core/limits/limits.ts'
import { readLimitUsage } from '../../../shared/runtime/limits/limit-usage.ts'
import { aType } from '../../support/tasks/a-task.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

it.each([1, 8, 9, 40])(
  'the usage of a limit tells all permits that older runs hold after max was lowered from 40 to %i',
  async max => {
    const system = aMemorySystem()
    const holders = Array.from({ length: 40 }, (_, nth) => ({
      holder: holderIn(Math.floor(nth / SHARD_PERMITS_MAX), `holder${String(nth).padStart(4, '0')}`),
      taskId: `resize:${nth}`,
      since: nth,
    }))
    for (const one of holders) await system.limits.acquire('resize', one, SHARD_PERMITS_MAX)
    const configuration = { kind: 'handler', defaults: {}, limits: { concurrency: { max } } } as const

    const usage = await readLimitUsage(system, aType({ configuration }), {})

    expect(usage.concurrency).toMatchObject({ max, held: 40 })
    expect(usage.concurrency?.holders?.map(({ taskId }) => taskId)).toEqual(
      holders.map(({ taskId }) => taskId),
    )
  },
)
