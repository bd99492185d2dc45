import { expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import { defineFlow } from '../../../shared/define/flow/define-flow.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import {
  putType,
  registerFlowType,
  registerHandlerType,
  removeHandler,
} from '../../../shared/runtime/types/types.ts'
import { HOUR, MINUTE } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, servedJobs } from '../../support/worlds/memory-system.ts'

const HTTP = { kind: 'http', defaults: {}, shards: 1 } as const
const HANDLER = { kind: 'handler', defaults: {}, shards: 1 } as const
const step = defineTask('pack', { run: async () => {} })
const order = defineFlow('order', { steps: [{ name: 'pack', do: step }] })

async function published(system: MemorySystem, type: string, delayMs = 0): Promise<Task> {
  const outcome = await publish(system, { type, key: 'k1', delayMs })
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome.task
}

async function aSystemWithWaitingWork() {
  const system = aMemorySystem()
  await putType(system, 'pack', HTTP)
  await registerFlowType(system, 'order', { ...order.config, shards: 1 })
  const waiting = [await published(system, 'pack'), await published(system, 'order')]
  const placesNow = async () =>
    (await Promise.all(waiting.map(({ id }) => readTask(system, id)))).map(task => task?.place?.name)
  return { system, placesNow }
}

const READY = ['ready#pack#0', 'ready#pack#0']
const QUEUED = [undefined, undefined]

it('tasks and steps of open flows that wait for HTTP workers go to the handler that is deployed, and back', async () => {
  const { system, placesNow } = await aSystemWithWaitingWork()
  const overHttp = await placesNow()

  await registerHandlerType(system, 'pack', HANDLER)
  await servedJobs(system)
  const deployed = await placesNow()
  await removeHandler(system, 'pack')
  await putType(system, 'pack', HTTP)
  await servedJobs(system)

  expect([overHttp, deployed, await placesNow()]).toEqual([READY, QUEUED, READY])
})

it('a kind that changes alone, in the same order, reaches the waiting tasks', async () => {
  const { system, placesNow } = await aSystemWithWaitingWork()
  const kindNow = async () => (await readTask(system, 'pack:k1'))?.kind

  await registerHandlerType(system, 'pack', { ...HANDLER, ordering: 'priority' })
  await servedJobs(system)

  expect([await kindNow(), await placesNow()]).toEqual(['handler', READY])
})

it('a task that is due in an hour follows the kind, too', async () => {
  const system = aMemorySystem()
  await putType(system, 'pack', HTTP)
  const { id } = await published(system, 'pack', HOUR)

  await registerHandlerType(system, 'pack', HANDLER)
  await servedJobs(system)

  expect(await readTask(system, id)).toMatchObject({ kind: 'handler', ordering: 'arrival' })
})

it('the sweeper finds the tasks that a lost message of the job left behind', async () => {
  const { system, placesNow } = await aSystemWithWaitingWork()
  await registerHandlerType(system, 'pack', HANDLER)
  system.messages.jobLooks.length = 0
  await system.clock.advance(MINUTE)

  const { repaired } = await sweep(system)

  expect([repaired, await placesNow()]).toEqual([2, QUEUED])
})
