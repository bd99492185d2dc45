import { UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { expect, it } from 'vitest'
import { systemClock } from '../../../shared/aws/environment.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { writeFinish } from '../../../shared/runtime/claim/claimed-task.ts'
import { aMeteredDynamo } from '../../support/dynamo/metered-dynamo.ts'
import { aPublication, BORN, changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

/** Only DynamoDB shows this case: a head of older code has no map of ended runs for a success. */

const dynamo = aMeteredDynamo()

it('a success on a head without a map of ended runs is written under the guard of its revision', async () => {
  const stores = await dynamo.newStores()
  const published = create(aPublication({ options: { concurrency: 3 } }), undefined, NOW)
  const one = changeOf(claim(published.after, { workerId: 'w1' }, NOW))
  const two = changeOf(claim(one.after, { workerId: 'w2' }, NOW))
  for (const change of [published, one, two]) await stores.tasks.apply(change)
  const { id } = published.after
  const Key = { pk: id, sk: 'head' }
  const older = { TableName: stores.table, Key, UpdateExpression: 'REMOVE ended' }
  await stores.documents.send(new UpdateCommand(older))
  const seen = (await stores.tasks.head(id)) as Task
  const word = { born: BORN, fence: 1, outcome: 'succeed' as const }

  const counted = await stores.tasks.apply(changeOf(finish(seen, word, NOW + SECOND, 0)))
  const system = { ...aMemorySystem(), tasks: stores.tasks, clock: systemClock }
  const { decision } = await writeFinish(system, seen, word)

  expect(counted.applied).toBe(false)
  expect(decision.ok).toBe(true)
  const head = await stores.tasks.head(id)
  expect(head).toMatchObject({ ended: { 1: { state: 'succeeded' } }, live: { 2: { workerId: 'w2' } } })
})
