import { TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'
import { removeTask } from '../../shared/runtime/operate/operate.ts'
import { taskAlreadyExists } from '../../shared/table/transact-items.ts'
import { wireItem } from '../support/dynamo/wire-item.ts'
import { aTableWorld, type TableWorld } from '../support/worlds/a-table-world.ts'

let world: TableWorld

const resize = defineTask('resize', {
  input: z.object({ url: z.string(), text: z.string().optional() }),
  run: () => ({ bytes: 1 }),
})
const INPUT = { url: 'cat.png' }
const LARGE = { url: 'cat.png', text: 'x'.repeat(5_000) }

beforeAll(async () => {
  world = await aTableWorld()
  await world.register('resize', resize.config)
  await world.register('tenants', { kind: 'handler', defaults: {} })
  await world.register('check', { kind: 'http', defaults: {} })
  await world.register('order', {
    kind: 'flow',
    defaults: {},
    steps: [{ name: 'check', do: { type: 'check' } }],
  })
})
afterAll(() => world?.stop())

/** What DynamoDB says of a transaction that it cancels. */
const cancellation = async (transaction: Promise<unknown>) =>
  transaction.then(
    () => expect.fail('the transaction was not cancelled'),
    (error: unknown) => error,
  )

describe('a task within a transaction', () => {
  it('is one entry with a small input, two with a large one, and three with large callbacks', async () => {
    const { client } = world
    const onSuccess = [{ type: 'resize', input: LARGE }]

    const counts = [
      await client.transactItems(resize, INPUT, { key: 'small' }),
      await client.transactItems(resize, LARGE, { key: 'large' }),
      await client.transactItems(resize, LARGE, { key: 'owing', onSuccess }),
    ].map(entries => entries.map(({ Put }) => Put.Item.sk.split('#')[0]))

    expect(counts).toEqual([['head'], ['head', 'in'], ['head', 'in', 'call']])
  })

  it.each([
    ['a small input', 'inline', INPUT],
    ['a large input', 'apart', LARGE],
  ])('with %s is stored with the order, and shows its input', async (_what, key, input) => {
    const { client, order, transact, hasOrder } = world

    await transact([order(key), ...(await client.transactItems(resize, input, { key, tags: { a: 'b' } }))])

    expect(await hasOrder(key)).toBe(true)
    expect(await client.get(`resize:${key}`)).toMatchObject({ status: 'ready', input, tags: { a: 'b' } })
  })

  it('is not stored when another write of the transaction fails', async () => {
    const { client, order, transact, items } = world
    await transact([order('taken')])
    const before = await items()
    const condition = { ConditionExpression: 'attribute_not_exists(id)' }
    const taken = { Put: { ...order('taken').Put, ...condition } }

    const error = await cancellation(
      transact([taken, ...(await client.transactItems(resize, LARGE, { key: 'never' }))]),
    )

    expect(taskAlreadyExists(error)).toBeUndefined()
    expect(await items()).toEqual(before)
  })

  it('is not stored a second time, nor is the order, and the error names the task', async () => {
    const { client, order, transact, hasOrder } = world
    await client.publish(resize, INPUT, { key: 'twice' })
    const entries = await client.transactItems(resize, LARGE, { key: 'twice' })

    const error = await cancellation(transact([order('twice'), ...entries]))

    expect(taskAlreadyExists(error)).toEqual({ id: 'resize:twice', position: 1, isRemoved: false })
    expect(await hasOrder('twice')).toBe(false)
    expect(await client.get('resize:twice')).toMatchObject({ input: INPUT })
  })

  it('is not stored over a removed task, and the error says that it was removed', async () => {
    const { client, order, transact, hasOrder, system } = world
    await client.publish(resize, INPUT, { key: 'removed' })
    await removeTask(system, 'resize:removed')
    const entries = await client.transactItems(resize, INPUT, { key: 'removed' })

    const error = await cancellation(transact([...entries, order('removed')]))

    expect(taskAlreadyExists(error)).toEqual({ id: 'resize:removed', position: 0, isRemoved: true })
    expect(await hasOrder('removed')).toBe(false)
    await expect(client.get('resize:removed')).rejects.toMatchObject({ status: 404 })
    expect((await client.publish(resize, INPUT, { key: 'removed' })).created).toBe(true)
  })

  it('may be sent again with the token of the transaction, as long as the entries are the same', async () => {
    const { client, order, transact } = world
    const entries = [order('again'), ...(await client.transactItems(resize, LARGE, { key: 'again' }))]
    await transact(entries, 'token-1')

    await transact(entries, 'token-1')

    const others = [order('again'), ...(await client.transactItems(resize, LARGE, { key: 'again' }))]
    const error = await cancellation(transact(others, 'token-1'))
    expect(error).toMatchObject({ name: 'IdempotentParameterMismatchException' })
    expect(taskAlreadyExists(await cancellation(transact(entries)))).toMatchObject({ id: 'resize:again' })
  })

  it('costs twice the units of a plain publish, in the table and in the index', async () => {
    const { client, documents } = world
    const sent = async (input: typeof INPUT) => {
      const TransactItems = await client.transactItems(resize, input)
      const { ConsumedCapacity: [used] = [] } = await documents.send(
        new TransactWriteCommand({ TransactItems, ReturnConsumedCapacity: 'INDEXES' }),
      )
      return [used?.Table?.CapacityUnits, used?.GlobalSecondaryIndexes?.view?.CapacityUnits]
    }

    expect(await sent(INPUT)).toEqual([2, 2])
    expect(await sent({ url: 'x'.repeat(2_500) })).toEqual([2 + 2 * 3, 2])
  })

  it('without a key has an id that its first entry names', async () => {
    const { client, transact } = world
    const entries = await client.transactItems(resize, INPUT)

    await transact(entries)

    const id = entries[0]?.Put.Item.pk ?? ''
    expect(await client.get(id)).toMatchObject({ id, status: 'ready' })
  })

  it('can be one of several, and of a flow, whose steps are stored before', async () => {
    const { client, transact } = world
    const entries = await client.transactItems([
      { ...resize.with(LARGE), key: 'first' },
      { type: 'order', key: 'second', input: { sku: 'a' } },
    ])

    await transact(entries)

    expect(entries).toHaveLength(3)
    expect(await client.get('order:second')).toMatchObject({ step: 'check', params: { sku: 'a' } })
  })
})

describe('a publish that no transaction can carry out', () => {
  const refused: ReadonlyArray<readonly [string, object, object]> = [
    ['an unknown type', { type: 'resise' }, { status: 404, path: 'type', says: 'resize' }],
    ['ifExists "keep"', { ifExists: 'keep' }, { path: 'ifExists', says: '"reject" only' }],
    ['ifExists "update"', { ifExists: 'update' }, { path: 'ifExists', says: '"reject" only' }],
    ['ifExists "restart"', { ifExists: 'restart' }, { path: 'ifExists', says: '"reject" only' }],
    ['debounce', { debounce: { ms: 5 } }, { path: 'debounce', says: 'use publish' }],
    ['throttle', { throttle: { perMs: 5 } }, { path: 'throttle', says: 'use publish' }],
    ['an input over 350 KB', { input: 'x'.repeat(360_000) }, { status: 413, path: 'input', says: '358400' }],
    ['an unknown field', { delay: 5 }, { path: 'delay', says: 'delayMs' }],
    [
      'an unknown type of a callback',
      { onSuccess: [{ type: 'gone' }] },
      { status: 404, path: 'onSuccess.0.type' },
    ],
  ]

  it.each(refused)('is refused for %s before anything is written', async (_what, wrong, expected) => {
    const { client, items } = world
    const { status = 400, path, says = '' } = expected as { status?: number; path: string; says?: string }
    const before = await items()

    const error = await client
      .transactItems({ type: 'resize', key: 'refused', input: INPUT, fairnessKey: 'a', ...wrong } as never)
      .catch((one: unknown) => one)

    expect(error).toMatchObject({ name: 'ProblemError', status })
    const [problem] = (error as { problem: { errors: Array<{ path: string; message: string }> } }).problem
      .errors
    expect(problem).toMatchObject({ path, message: expect.stringContaining(says) })
    expect(await items()).toEqual(before)
    expect(await world.system.types.get('resize')).not.toHaveProperty('isFair')
  })

  it('is refused when another one of the list has its key', async () => {
    const list = [
      { type: 'resize', key: 'a' },
      { type: 'resize', key: 'b' },
      { type: 'resize', key: 'a' },
    ]

    const error = world.client.transactItems(list)

    await expect(error).rejects.toMatchObject({
      status: 400,
      problem: {
        errors: [{ path: '2.key', message: expect.stringContaining('names resize:a, as entry 0 does') }],
      },
    })
  })

  it('of one key in two calls is refused by DynamoDB, and nothing is stored', async () => {
    const { client, transact } = world
    const make = () => client.transactItems(resize, INPUT, { key: 'both' })

    const error = await cancellation(transact([...(await make()), ...(await make())]))

    // The service answers the former, DynamoDB Local the latter.
    expect((error as Error).name).toMatch(/^(ValidationException|TransactionCanceledException)$/)
    await expect(client.get('resize:both')).rejects.toMatchObject({ status: 404 })
  })

  it('is refused for an input that the schema of the definition does not accept', async () => {
    const wrong = world.client.transactItems(resize, { url: 1 } as never, { key: 'wrong' })

    await expect(wrong).rejects.toMatchObject({ status: 400, problem: { errors: [{ path: 'input.url' }] } })
  })

  it('is refused for a canvas', async () => {
    const canvas = world.client.transactItems({ chain: [resize.with(INPUT)] } as never)

    await expect(canvas).rejects.toThrow(/is a canvas, which only the client of the HTTP API publishes/)
  })
})

describe('entries survive the settings of the user’s client:', () => {
  it.each([
    ['empty values become null', { marshallOptions: { convertEmptyValues: true } }],
    ['undefined values are removed', { marshallOptions: { removeUndefinedValues: true } }],
    ['class instances become maps', { marshallOptions: { convertClassInstanceToMap: true } }],
    ['numbers are wrapped', { unmarshallOptions: { wrapNumbers: true } }],
  ])('%s', async (what, translation) => {
    const { client, dynamo, system } = world
    const documents = DynamoDBDocumentClient.from(dynamo.client(), translation)
    const send = async (options: object) => {
      const TransactItems = await client.transactItems('tenants', LARGE, { key: what, ...options })
      return documents.send(new TransactWriteCommand({ TransactItems }))
    }
    await client.publish('tenants', INPUT, { fairnessKey: 'a' })

    await send({ tags: { a: 'b' } })
    const second = await cancellation(send({}))

    expect(await client.get(`tenants:${what}`)).toMatchObject({ input: LARGE, tags: { a: 'b' } })
    expect(await system.tasks.head(`tenants:${what}`)).toMatchObject({ isFair: true })
    expect(taskAlreadyExists(second)).toMatchObject({ id: `tenants:${what}` })
    documents.destroy()
  })

  it('the client without documents takes them marshalled', async () => {
    const { client, dynamo } = world
    const raw = dynamo.client()
    const entries = await client.transactItems(resize, LARGE, { key: 'raw' })

    const TransactItems = entries.map(({ Put }) => ({ Put: { ...Put, Item: wireItem(Put.Item) } }))
    await raw.send(new TransactWriteItemsCommand({ TransactItems }))

    expect(await client.get('resize:raw')).toMatchObject({ input: LARGE })
    raw.destroy()
  })
})

it.each([
  ['another error', new Error('no')],
  ['nothing', undefined],
  [
    'a cancellation for another reason',
    { name: 'TransactionCanceledException', CancellationReasons: [{ Code: 'TransactionConflict' }] },
  ],
  [
    'a refusal by an item of the user’s table',
    {
      name: 'TransactionCanceledException',
      CancellationReasons: [
        { Code: 'None' },
        { Code: 'ConditionalCheckFailed', Item: { pk: { S: 'a:b' }, sk: { S: 'head' } } },
      ],
    },
  ],
])('%s does not say that a task exists', (_what, error) => {
  expect(taskAlreadyExists(error)).toBeUndefined()
})
