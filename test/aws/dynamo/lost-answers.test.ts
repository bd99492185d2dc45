import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { aPublication, aType, BORN, changeOf, LATER_BORN, NOW, SECOND } from '../../support/tasks/a-task.ts'

const dynamo = aDynamo()
let stores: DynamoStores
/** Runs once after the next request was carried out; its answer is then lost. */
let meanwhile: (() => Promise<void>) | undefined
let requests = 0

beforeAll(() => {
  dynamo.client().middlewareStack.add(
    next => async args => {
      const result = await next(args)
      requests += 1
      if (!meanwhile) return result
      const interlude = meanwhile
      meanwhile = undefined
      await interlude()
      throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET', name: 'TimeoutError' })
    },
    { step: 'deserialize', priority: 'low' },
  )
})
beforeEach(async () => {
  stores = await dynamo.newStores()
})

/** Loses the next answer; `work` happens before the SDK repeats the request. */
function loseNextAnswer(work: () => Promise<unknown> = async () => undefined): void {
  requests = 0
  meanwhile = async () => {
    await work()
  }
}

const FIRST = { born: BORN, fence: 1 }
const published = () => create(aPublication(), undefined, NOW)

describe('a write whose answer was lost is repeated by the SDK and recognises itself', () => {
  it('when it publishes', async () => {
    const change = published()
    loseNextAnswer()

    expect(await stores.tasks.apply(change)).toEqual({ applied: true, head: change.after })
    expect(requests).toBe(2)
  })

  it('when it publishes and a worker claims before the repetition', async () => {
    const change = published()
    const claimed = changeOf(claim(change.after, { workerId: 'w1' }, NOW))
    loseNextAnswer(() => stores.tasks.apply(claimed))

    expect(await stores.tasks.apply(change)).toEqual({ applied: true, head: claimed.after })
  })

  it.each([
    ['success is counted', 'counted', (run: Task) => finish(run, { ...FIRST, outcome: 'succeed' }, NOW, 0)],
    ['heartbeat lands', 'live', (run: Task) => heartbeat(run, FIRST, NOW + SECOND)],
  ])('when it claims, even if another run’s %s before the repetition', async (_what, guard, decide) => {
    const publication = aPublication({ kind: 'http', options: { concurrency: 3 } })
    const first = create(publication, undefined, NOW)
    const one = changeOf(claim(first.after, { workerId: 'w1' }, NOW))
    const two = changeOf(claim(one.after, { workerId: 'w2' }, NOW))
    const other = changeOf(decide(one.after))
    for (const change of [first, one]) await stores.tasks.apply(change)
    loseNextAnswer(() => stores.tasks.apply(other))

    const applied = await stores.tasks.apply(two)

    expect(other.guard.kind).toBe(guard)
    expect(applied).toMatchObject({ applied: true, head: { live: { 2: { workerId: 'w2' } } } })
  })

  it('when it beats', async () => {
    const first = published()
    const running = changeOf(claim(first.after, { workerId: 'w1' }, NOW))
    for (const change of [first, running]) await stores.tasks.apply(change)
    loseNextAnswer()

    const beat = heartbeat(running.after, FIRST, NOW + SECOND)

    expect(await stores.tasks.apply(changeOf(beat))).toMatchObject({ applied: true })
  })

  it('when it stores a type', async () => {
    loseNextAnswer()

    expect(await stores.types.put(aType(), 0)).toBe(true)
  })
})

describe('a repeated write does not mistake for itself', () => {
  it('the claim of another worker that landed before the repetition', async () => {
    const first = published()
    await stores.tasks.apply(first)
    const theirs = changeOf(claim(first.after, { workerId: 'w2' }, NOW))
    await stores.tasks.apply(theirs)
    loseNextAnswer()

    const ours = await stores.tasks.apply(changeOf(claim(first.after, { workerId: 'w1' }, NOW)))

    expect(ours).toEqual({ applied: false, current: theirs.after })
  })

  it('the same worker’s earlier write', async () => {
    const first = published()
    const claimed = changeOf(claim(first.after, { workerId: 'w1' }, NOW))
    await stores.tasks.apply(first)

    expect((await stores.tasks.apply(claimed)).applied).toBe(true)
    expect((await stores.tasks.apply(claimed)).applied).toBe(false)
  })
})

describe('an item of newer code', () => {
  const newer = { ...headItem(published().after), v: 2 }

  beforeEach(async () => {
    await stores.documents.send(new PutCommand({ TableName: stores.table, Item: newer }))
  })

  it('is refused when it is read alone, and left out when a batch is read', async () => {
    const refusal = expect.objectContaining({ code: 'newer-schema' })
    const other = create(aPublication({ key: 'k2' }), undefined, NOW)
    await stores.tasks.apply(other)

    await expect(stores.tasks.head('resize:k1')).rejects.toThrow(refusal)
    expect(await stores.tasks.heads(['resize:k1', 'resize:k2'])).toEqual([other.after])
  })

  it('is changed neither by a publish nor by a heartbeat', async () => {
    const refusal = expect.objectContaining({ code: 'newer-schema' })
    const other = create(aPublication({ born: LATER_BORN }), undefined, NOW)
    const running = changeOf(claim(published().after, { workerId: 'w1' }, NOW)).after
    await stores.documents.send(
      new PutCommand({ TableName: stores.table, Item: { ...headItem(running), v: 2 } }),
    )

    await expect(stores.tasks.apply(other)).rejects.toThrow(refusal)
    const placed = { ...running, place: { name: 'running#resize#0', order: '1' } }
    const beat = changeOf(heartbeat(placed, FIRST, NOW + SECOND))
    await expect(stores.tasks.apply(beat)).rejects.toThrow(refusal)
  })
})

it('a patch that was repeated after another patch landed is refused, with the stored task', async () => {
  const first = published()
  await stores.tasks.apply(first)
  const ours = changeOf(patch(first.after, { priority: 1 }, NOW))
  const theirs = changeOf(patch(ours.after, { priority: 2 }, NOW))
  loseNextAnswer(() => stores.tasks.apply(theirs))

  expect(await stores.tasks.apply(ours)).toEqual({ applied: false, current: theirs.after })
})
