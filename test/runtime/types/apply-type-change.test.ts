import { expect, it } from 'vitest'
import type { TypeLimits } from '../../../shared/core/types/task-type.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { putType, registerFlowType } from '../../../shared/runtime/types/types.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  type MemorySystem,
  registered,
  servedJobs,
  stored,
} from '../../support/worlds/memory-system.ts'

const ARRIVAL = { kind: 'handler', defaults: {}, shards: 1 } as const
const PRIORITY = { ...ARRIVAL, ordering: 'priority' } as const
const LIMITED = { ...ARRIVAL, limits: { rate: { limit: 1, perMs: 1_000 } } } as const

async function aSystemWithATask() {
  const system = aMemorySystem()
  await registered(system)
  const { id } = await stored(system)
  return { system, orderingNow: async () => (await readTask(system, id))?.ordering }
}

/** The system of a process that cannot send the messages of a job. */
function cutOff(system: MemorySystem): MemorySystem {
  const goOnWithJobs = async () => [{ index: 0, reason: 'no answer', transient: true }]
  return { ...system, messages: { ...system.messages, continueJobs: goOnWithJobs } }
}

const unapplied = async ({ types }: MemorySystem) => (await types.get('resize'))?.unapplied
const jobsOf = ({ messages }: MemorySystem) => messages.jobLooks.map(({ job }) => job.kind)

/** Waits until every process knows the limit. */
async function waited<T>(system: MemorySystem, work: Promise<T>): Promise<T> {
  void work.catch(() => undefined)
  await system.clock.advance(2 * SECOND)
  return work
}

it('an order that could not be applied is applied when it is put again', async () => {
  const { system, orderingNow } = await aSystemWithATask()
  await expect(putType(cutOff(system), 'resize', PRIORITY)).rejects.toThrow('no answer')
  const left = await unapplied(system)

  await putType(system, 'resize', PRIORITY)
  await servedJobs(system)

  expect([left, await unapplied(system)]).toEqual([['reorder'], undefined])
  expect(await orderingNow()).toBe('priority')
})

it('the sweeper applies limits and an order that no later call applies, a minute later', async () => {
  const { system, orderingNow } = await aSystemWithATask()
  const putting = putType(cutOff(system), 'resize', { ...LIMITED, ordering: 'priority' })
  await expect(waited(system, putting)).rejects.toThrow('no answer')
  await sweep(system)
  const early = jobsOf(system)
  await system.clock.advance(MINUTE)

  const { repaired } = await sweep(system)

  expect([early, repaired]).toEqual([[], 2])
  expect(new Set(jobsOf(system))).toEqual(new Set(['relimit', 'reorder']))
  await servedJobs(system)
  expect([await unapplied(system), await orderingNow()]).toEqual([undefined, 'priority'])
})

it('the later of two orders holds, whichever job is served last', async () => {
  const { system, orderingNow } = await aSystemWithATask()
  await putType(system, 'resize', PRIORITY)
  const older = system.messages.jobLooks.splice(0)
  await putType(system, 'resize', { ...ARRIVAL, ordering: 'aged' })

  system.messages.jobLooks.push(...older)
  await servedJobs(system)

  expect(await orderingNow()).toBe('aged')
})

it('a configuration that is put again unchanged starts no job', async () => {
  const { system } = await aSystemWithATask()
  await putType(system, 'resize', PRIORITY)
  system.messages.jobLooks.length = 0

  await putType(system, 'resize', PRIORITY)

  expect(jobsOf(system)).toEqual([])
})

it('a flow that is deployed with other limits lets its waiting tasks ask again', async () => {
  const system = aMemorySystem()
  const flow = (limits: TypeLimits) =>
    ({
      kind: 'flow',
      defaults: {},
      shards: 1,
      steps: [{ name: 'a', do: { type: 'resize' } }],
      limits,
    }) as const
  await registerFlowType(system, 'order', flow({ concurrency: { max: 1 } }))

  await waited(system, registerFlowType(system, 'order', flow({ concurrency: { max: 2 } })))

  expect(jobsOf(system)).toEqual(['relimit', 'relimit'])
})
