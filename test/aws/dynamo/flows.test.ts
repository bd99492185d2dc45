import { DeleteCommand, GetCommand } from '@aws-sdk/lib-dynamodb'
import { beforeEach, describe, expect, it } from 'vitest'
import { DEFINITION_SORT_KEY, definitionPartition } from '../../../shared/aws/dynamo/keys.ts'
import type { Change } from '../../../shared/core/change.ts'
import { recordCallbacksPublished } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { aMeteredDynamo } from '../../support/dynamo/metered-dynamo.ts'
import type { Units } from '../../support/dynamo/unit-meter.ts'
import { aPublication, BORN, changeOf, SECOND } from '../../support/tasks/a-task.ts'
import { DONE, failingFor, THREE_STEPS } from '../../support/tasks/flow-life.ts'

/** The costs of flows and callbacks are the ones of docs/data-model.md, and steps are stored once. */

/** A time at which fences have nine digits, as from 2029 to 2057. Heads keep several fences. */
const NOW = Date.UTC(2034, 0, 1, 12)

const dynamo = aMeteredDynamo()
let table: string
let stores: DynamoStores

beforeEach(async () => {
  table = await dynamo.createTable()
  stores = dynamo.storesOf(table)
})

type Parts = Parameters<typeof aPublication>[0]

const KEY = 'k'.repeat(40 - 'order:'.length)
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
/** A result of the greatest length that a head keeps. The results of a saga are mostly ids. */
const RESULT = 'x'.repeat(36)
const INPUT = { sku: '6f1a52f4-3a0e-4a5c-9d43-c6b1f0a7d2e1', cents: 12_345 }

const published = (parts: Parts = {}): Change<Task> =>
  create(
    aPublication({
      type: 'order',
      key: KEY,
      kind: 'flow',
      flow: THREE_STEPS,
      input: INPUT,
      traceparent: TRACE,
      ...parts,
    }),
    undefined,
    NOW,
  )

/** Writes a change and answers its cost. */
async function cost(change: Change<Task>): Promise<Units> {
  dynamo.take()
  expect(await stores.tasks.apply(change)).toMatchObject({ applied: true })
  return dynamo.take()
}

const claimOf = (task: Task, now: number) => changeOf(claim(task, { workerId: 'reserve-4f0c2a7e91d3' }, now))
const endOf = (task: Task, outcome: Outcome, now: number) =>
  changeOf(finish(task, { born: BORN, fence: task.fence, ...outcome }, now, 0))

/** The costs of a run and of its end, one after the other, and the task after the last. */
async function costOfRuns(task: Task, outcomes: readonly Outcome[]) {
  const costs: Array<{ claim: Units; end: Units }> = []
  let current = task
  for (const [index, outcome] of outcomes.entries()) {
    const now = NOW + 2 * index * SECOND
    const claimed = claimOf(current, now)
    const over = endOf(claimed.after, outcome, now + SECOND)
    costs.push({ claim: await cost(claimed), end: await cost(over) })
    current = over.after
  }
  return { costs, task: current }
}

/** A flow whose definition is stored already, as for all flows but the first. */
async function publishedAgain(parts: Parts = {}): Promise<{ task: Task; cost: Units }> {
  await stores.tasks.apply(published({ key: 'first' }))
  const change = published(parts)
  return { cost: await cost(change), task: change.after }
}

const STEP = { claim: { table: 1 }, end: { table: 1 } }
const SUCCEED = { ...DONE, result: RESULT }

describe('a saga of three steps', () => {
  it('costs 2 units to publish, 2 a step, and 2 more at its end', async () => {
    const { task, cost: publishing } = await publishedAgain()

    const { costs } = await costOfRuns(task, [SUCCEED, SUCCEED, SUCCEED])

    expect(publishing).toEqual({ table: 1, view: 1 })
    expect(costs).toEqual([STEP, STEP, { claim: { table: 1 }, end: { table: 1, view: 2 } }])
  })

  it('costs as much to undo as to do, and moves in the view when its undo begins and ends', async () => {
    const { task } = await publishedAgain()
    const failing = failingFor('the courier takes no parcels of this size')

    const { costs, task: after } = await costOfRuns(task, [SUCCEED, SUCCEED, failing, DONE, DONE, DONE])

    expect(after).toMatchObject({ state: 'failed' })
    expect(costs).toEqual([
      STEP,
      STEP,
      // One more unit for the record of the failed run.
      { claim: { table: 1 }, end: { table: 2, view: 2 } },
      STEP,
      STEP,
      { claim: { table: 1 }, end: { table: 1, view: 2 } },
    ])
  })

  it('pays for the ready and the running place of a step that is claimed over HTTP', async () => {
    const http = { kind: 'http', ordering: 'priority' } as const
    const { name: _name, steps, onCancel } = THREE_STEPS
    const flow = {
      name: 'http',
      onCancel,
      steps: steps.map(step => ({ ...step, do: { ...step.do, ...http } })),
    }
    await stores.tasks.apply(published({ key: 'first', flow }))
    const change = published({ flow })

    const publishing = await cost(change)
    const { costs } = await costOfRuns(change.after, [SUCCEED, SUCCEED])

    expect(publishing).toEqual({ table: 1, view: 1, place: 1 })
    expect(costs).toEqual([
      { claim: { table: 1, place: 2 }, end: { table: 1, place: 2 } },
      { claim: { table: 1, place: 2 }, end: { table: 1, place: 2 } },
    ])
  })
})

describe('a callback', () => {
  it('costs its own task, a read of the head, and 3 units to record that it was published', async () => {
    const callbacks = { onSuccess: [{ type: 'mail' }], onError: [] }
    const change = published({ type: 'work', kind: 'handler', callbacks })
    const { flow: _flow, ...plain } = change.after
    const first = { ...change, after: plain as Task }
    const publishing = await cost(first)

    const { costs, task } = await costOfRuns(first.after, [SUCCEED])

    expect(publishing).toEqual({ table: 1, view: 1 })
    // It stays in the bucket `open` until its callbacks are published.
    expect(costs).toEqual([{ claim: { table: 1 }, end: { table: 1 } }])
    expect(await cost(changeOf(recordCallbacksPublished(task, NOW + 3 * SECOND)))).toEqual({
      table: 1,
      view: 2,
    })
  })
})

describe('the steps of a flow', () => {
  const definition = { pk: definitionPartition(THREE_STEPS.name), sk: DEFINITION_SORT_KEY }
  const secondProcess = () => dynamo.storesOf(table).tasks

  it('are written with the first task, and a process writes them once', async () => {
    expect(await cost(published({ key: 'a' }))).toEqual({ table: 3, view: 1 })
    expect(await cost(published({ key: 'b' }))).toEqual({ table: 1, view: 1 })
    expect(
      (await stores.documents.send(new GetCommand({ TableName: table, Key: definition }))).Item,
    ).toBeDefined()
  })

  it('are read once by a process that has never seen them', async () => {
    const change = published()
    await stores.tasks.apply(change)
    const other = secondProcess()
    dynamo.take()

    expect(await other.head(change.after.id)).toEqual(change.after)
    const first = dynamo.take()
    expect(await other.heads([change.after.id])).toEqual([change.after])

    expect(first).toEqual({ table: 2 })
    expect(dynamo.take()).toEqual({ table: 0.5 })
  })

  it('are read by another process, which then advances the flow', async () => {
    const change = published()
    await stores.tasks.apply(change)
    const other = secondProcess()
    const seen = await other.head(change.after.id)
    const claimed = claimOf(seen as Task, NOW)

    expect(await other.apply(claimed)).toEqual({ applied: true, head: claimed.after })
    expect(await stores.tasks.apply(claimed)).toEqual({ applied: false, current: claimed.after })
  })

  it('make only their own flow unreadable when they are gone', async () => {
    const plain = create(aPublication({ key: 'plain' }), undefined, NOW)
    await stores.tasks.apply(published())
    await stores.tasks.apply(plain)
    await stores.documents.send(new DeleteCommand({ TableName: table, Key: definition }))
    const other = secondProcess()

    await expect(other.head(published().after.id)).rejects.toMatchObject({ code: 'unreadable' })
    expect(await other.heads([published().after.id, plain.after.id])).toEqual([plain.after])
  })
})
