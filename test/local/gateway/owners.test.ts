import { describe, expect, it } from 'vitest'
import { type Call, jsonAnswer } from '../../../local/gateway/call.ts'
import { createLedger } from '../../../local/gateway/meter.ts'
import { failedWriteUnits, itemSize } from '../../../local/gateway/metering.ts'
import { createOwners, readTaskTables } from '../../../local/gateway/owners.ts'
import { openStack } from '../../../local/template/stack.ts'
import { CANVAS_TYPE, SCHEDULE_TYPE } from '../../../shared/core/task/head-fields.ts'

const TRACE = 'Root=1-6743a5c0-0123456789abcdef01234567;Parent=0123456789abcdef;Sampled=0'
const OTHER_TRACE = TRACE.replace('6743a5c0', '6743a5c1')

const aCall = (service: string, operation: string, body: unknown, trace = TRACE): Call => ({
  caller: 'Api',
  service,
  operation,
  method: 'POST',
  path: '/',
  headers: { 'x-amzn-trace-id': trace },
  body: Buffer.from(JSON.stringify(body)),
})
const nothing = jsonAnswer(200, {})
const TABLE = 'tasks'
const theOwners = (...types: readonly string[]) => {
  const owners = createOwners(name => types.includes(name))
  owners.deploy(new Set([TABLE]))
  return owners
}
const key = (pk: string) => ({ pk: { S: pk }, sk: { S: 'head' } })
const onTasks = (request: object) => ({ TableName: TABLE, ...request })
const changed = (pk: string, table = TABLE) => ({
  eventSourceARN: `arn:aws:dynamodb:us-east-1:000000000000:table/${table}/stream/2026-11-22`,
  dynamodb: { Keys: key(pk) },
})
const dispatch = (id: string) => JSON.stringify({ v: 2, id, head: { pk: 'other:1' } })

describe('a call of DynamoDB is charged to', () => {
  it.each([
    ['the task of its item', 'UpdateItem', onTasks({ Key: key('mail:a') }), ['mail:a']],
    [
      'a task whose key has marks of JSON',
      'PutItem',
      onTasks({ Item: key('mail:"a\\b#c"') }),
      ['mail:"a\\b#c"'],
    ],
    [
      'the tasks of a transaction, once each',
      'TransactWriteItems',
      {
        TransactItems: [
          { Put: onTasks({ Item: key('mail:a') }) },
          { Update: onTasks({ Key: key('mail:a') }) },
          { Put: onTasks({ Item: key('pay:b') }) },
        ],
      },
      ['mail:a', 'pay:b'],
    ],
    [
      'the task alone that a transaction publishes with an item of a user',
      'TransactWriteItems',
      {
        TransactItems: [
          { Put: { TableName: 'orders', Item: key('order:1') } },
          { Put: onTasks({ Item: key('mail:a') }) },
        ],
      },
      ['mail:a'],
    ],
    [
      'the tasks of a batch, and not the items of a user in it',
      'BatchGetItem',
      { RequestItems: { orders: { Keys: [key('order:1')] }, [TABLE]: { Keys: [key('mail:a')] } } },
      ['mail:a'],
    ],
    [
      'the system, for an item in a table of a user',
      'PutItem',
      { TableName: 'orders', Item: key('order:1') },
      [],
    ],
    ['the system, for a canvas', 'UpdateItem', onTasks({ Key: key(`${CANVAS_TYPE}:a`) }), []],
    ['the system, for a schedule', 'UpdateItem', onTasks({ Key: key(`${SCHEDULE_TYPE}:a`) }), []],
    ['the type of what is counted for it', 'UpdateItem', onTasks({ Key: key('activity#mail') }), ['mail']],
    ['no type that was never seen', 'UpdateItem', onTasks({ Key: key('activity#pay') }), []],
    ['no worker whose id has a colon', 'PutItem', onTasks({ Item: key('target#mail:a') }), []],
    ['the system, for an item that tasks share', 'GetItem', onTasks({ Key: key('types') }), []],
    [
      'no task that the text of another task names',
      'PutItem',
      onTasks({ Item: { ...key('mail:a'), input: { S: '{"pk":{"S":"pay:b"}}' } } }),
      ['mail:a'],
    ],
  ])('%s', (_what, operation, body, owners) => {
    expect(theOwners('mail').ofCall(aCall('dynamodb', operation, body), nothing)).toEqual(owners)
  })

  it('the tasks that a query has found', () => {
    const query = { ExpressionAttributeValues: { ':partition': { S: 'ready#mail#0' } } }
    const call = aCall('dynamodb', 'Query', onTasks(query))
    const found = jsonAnswer(200, { Items: [key('mail:a'), key('mail:b')] })

    expect(theOwners().ofCall(call, found)).toEqual(['mail:a', 'mail:b'])
    expect(theOwners().ofCall(call, jsonAnswer(200, { Items: [] }))).toEqual([])
    const other = aCall('dynamodb', 'Query', { ...query, TableName: 'orders' })
    expect(theOwners().ofCall(other, found)).toEqual([])
  })
})

describe('a call of SQS is charged to', () => {
  it('the task of the message that it sends', () => {
    expect(
      theOwners().ofCall(aCall('sqs', 'SendMessage', { MessageBody: dispatch('mail:a') }), nothing),
    ).toEqual(['mail:a'])
  })

  it('the type of a job', () => {
    const MessageBody = JSON.stringify({ v: 1, kind: 'job', type: 'mail' })

    expect(theOwners().ofCall(aCall('sqs', 'SendMessage', { MessageBody }), nothing)).toEqual(['mail'])
  })

  it('the tasks whose messages it receives, and deletes by their receipts', () => {
    const owners = theOwners()
    const Messages = [
      { Body: dispatch('mail:a'), ReceiptHandle: 'r1' },
      { Body: dispatch('mail:b'), ReceiptHandle: 'r2' },
    ]

    expect(owners.ofCall(aCall('sqs', 'ReceiveMessage', {}), jsonAnswer(200, { Messages }))).toEqual([
      'mail:a',
      'mail:b',
    ])
    expect(
      owners.ofCall(aCall('sqs', 'DeleteMessageBatch', { Entries: [{ ReceiptHandle: 'r2' }] }), nothing),
    ).toEqual(['mail:b'])
    expect(owners.ofCall(aCall('sqs', 'DeleteMessage', { ReceiptHandle: 'r1' }), nothing)).toEqual(['mail:a'])
  })

  it('the system, when there is no message', () => {
    expect(theOwners().ofCall(aCall('sqs', 'ReceiveMessage', {}), nothing)).toEqual([])
  })

  it('the system, when 5,000 messages were received after the one that it deletes', () => {
    const owners = theOwners()
    const receive = (Messages: readonly object[]) =>
      owners.ofCall(aCall('sqs', 'ReceiveMessage', {}), jsonAnswer(200, { Messages }))
    const remove = (ReceiptHandle: string) =>
      owners.ofCall(aCall('sqs', 'DeleteMessage', { ReceiptHandle }), nothing)
    const later = Array.from({ length: 5_000 }, (_, number) => ({
      Body: '{}',
      ReceiptHandle: `later${number}`,
    }))

    receive(['r1', 'r2'].map(ReceiptHandle => ({ Body: dispatch('mail:a'), ReceiptHandle })))
    receive(later.slice(1))

    expect(remove('r1')).toEqual([])
    expect(remove('r2')).toEqual(['mail:a'])
  })

  it.each(['null', '5', '"mail:a"', '[]', 'no JSON', '{"id":5,"type":null}'])(
    'the system, when its message is %s',
    text => {
      const owners = theOwners()
      const Messages = [{ Body: text, ReceiptHandle: 'r1' }]

      expect(owners.ofCall(aCall('sqs', 'SendMessage', { MessageBody: text }), nothing)).toEqual([])
      expect(owners.ofCall(aCall('sqs', 'ReceiveMessage', {}), jsonAnswer(200, { Messages }))).toEqual([])
    },
  )

  it('the system, when its message is for a canvas, or its job for a schedule', () => {
    for (const MessageBody of [dispatch('canvas:a'), JSON.stringify({ v: 1, kind: 'job', type: 'schedule' })])
      expect(theOwners().ofCall(aCall('sqs', 'SendMessage', { MessageBody }), nothing)).toEqual([])
  })
})

describe('an invocation is charged to', () => {
  it('the tasks of its messages', () => {
    const event = {
      Records: [{ body: dispatch('mail:a') }, { body: 'no JSON' }, { body: dispatch('mail:b') }],
    }

    expect(theOwners().ofInvocation(event, TRACE)).toEqual(['mail:a', 'mail:b'])
  })

  it('the tasks and types whose items the stream has', () => {
    const event = { Records: [changed('mail:a'), changed('activity#mail'), changed('order:1', 'orders')] }

    expect(theOwners('mail').ofInvocation(event, TRACE)).toEqual(['mail:a', 'mail'])
  })

  it('the tasks that a request of the API has named, as the request is', () => {
    const owners = theOwners()
    const followed = owners.follow(TRACE, false)

    owners.ofCall(aCall('dynamodb', 'PutItem', onTasks({ Item: key('mail:a') })), nothing)
    owners.ofCall(aCall('dynamodb', 'PutItem', onTasks({ Item: key('pay:b') }), OTHER_TRACE), nothing)

    expect(owners.ofInvocation({ version: '2.0' }, TRACE)).toEqual(['mail:a'])
    expect(followed.end()).toEqual(['mail:a'])
    expect(owners.ofInvocation({ version: '2.0' }, TRACE)).toEqual([])
  })

  it('the system, when the dashboard reads', () => {
    const owners = theOwners()
    const followed = owners.follow(TRACE, true)

    const read = aCall('dynamodb', 'GetItem', onTasks({ Key: key('mail:a') }))
    expect(owners.ofCall(read, nothing)).toEqual([])
    expect(owners.ofInvocation({ version: '2.0' }, TRACE)).toEqual([])
    expect(followed.end()).toEqual([])
  })

  it('the system, when a schedule invokes', () => {
    expect(theOwners().ofInvocation({ sweep: true }, TRACE)).toEqual([])
  })

  it.each([
    [null],
    ['text'],
    [{ Records: null }],
    [{ Records: 'text' }],
    [{ Records: [null, {}, { body: null }, { body: 5 }, { body: 'null' }, { dynamodb: null }] }],
    [{ Records: [{ ...changed('mail:a'), dynamodb: { Keys: { pk: { S: 5 } } } }] }],
  ])('the system, when a user invokes with %j', event => {
    expect(theOwners().ofInvocation(event, TRACE)).toEqual([])
  })
})

it('the tables of the task systems are those that functions name in BATON_TABLE', () => {
  const aFunction = (Variables: object) => ({
    Type: 'AWS::Lambda::Function',
    Properties: { Environment: { Variables } },
  })
  const Resources = {
    Planner: aFunction({ BATON_TABLE: { Ref: 'Parameter' } }),
    Other: aFunction({ TABLE: 'orders' }),
    Foreign: aFunction({ BATON_TABLE: { 'Fn::ImportValue': 'of-another-stack' } }),
    Plain: { Type: 'AWS::Lambda::Function', Properties: {} },
  }
  const template = { Resources, Parameters: { Parameter: { Type: 'String', Default: TABLE } } }
  const surroundings = { gatewayUrl: '', apiUrl: '', queueUrl: () => '' }

  expect(readTaskTables(openStack({ template } as never, 'Tiny', surroundings))).toEqual(new Set([TABLE]))
})

it('a chain without a root is not followed: its header comes from the caller', () => {
  const owners = theOwners()
  const followed = owners.follow('nonsense', true)

  const read = aCall('dynamodb', 'GetItem', onTasks({ Key: key('mail:a') }), 'nonsense')
  expect(owners.ofCall(read, nothing)).toEqual(['mail:a'])
  expect(followed.end()).toEqual([])
})

it('a line of a log is charged to its task', () => {
  expect(theOwners().ofLine('{"level":"INFO","message":"sent","taskId":"mail:a"}')).toEqual(['mail:a'])
  expect(theOwners().ofLine('plain text')).toEqual([])
})

it.each([
  String.raw`matching /"taskId":"\d+"/`,
  String.raw`{"taskId":"mail:\d+"}`,
  '{"taskId":"no id"}',
  '{"taskId":"mail:"}',
  '{"taskId":"canvas:a"}',
  '{"taskId":"',
  '{"taskId":"mail:a\\',
])('a line that names no task is charged to the system: %s', line => {
  expect(theOwners().ofLine(line)).toEqual([])
})

describe('the ledger', () => {
  it('charges equal shares, to each task and to its type', () => {
    const ledger = createLedger()

    ledger.charge(['mail:a', 'mail:b', 'pay:c', 'pay'], { writeUnits: 4 })

    expect(ledger.ofTask('mail:a')?.writeUnits).toBe(1)
    expect([...ledger.types()].map(([type, { writeUnits }]) => [type, writeUnits])).toEqual([
      ['mail', 2],
      ['pay', 2],
    ])
  })

  it('keeps the tasks that used something last, and all of their types', () => {
    const ledger = createLedger(2)

    for (const id of ['mail:a', 'mail:b', 'mail:a', 'mail:c']) ledger.charge([id], { writeUnits: 1 })

    expect(ledger.ofTask('mail:a')?.writeUnits).toBe(2)
    expect(ledger.ofTask('mail:b')).toBeUndefined()
    expect(ledger.types().get('mail')?.writeUnits).toBe(4)
  })

  it('leaves the usage without owners to the system', () => {
    const ledger = createLedger()

    ledger.charge([], { writeUnits: 1 })

    expect(ledger.types().size).toBe(0)
  })
})

it.each([
  ['text', { a: { S: 'héllo' } }, 1 + 6],
  ['a number', { a: { N: '12345' } }, 1 + 4],
  ['bytes', { a: { B: Buffer.from('abc').toString('base64') } }, 1 + 3],
  ['a boolean and a null', { a: { BOOL: true }, b: { NULL: true } }, 4],
  ['a set', { a: { SS: ['x', 'yy'] } }, 1 + 3],
  ['a list', { a: { L: [{ S: 'xy' }, { BOOL: true }] } }, 1 + 3 + 3 + 2],
  ['a map', { a: { M: { bc: { S: 'xy' } } } }, 1 + 3 + 4 + 1],
])('the size of %s', (_name, item, expected) => {
  expect(itemSize(item)).toBe(expected)
})

it('a failed condition costs the started KB of the item, at least one unit', () => {
  expect(failedWriteUnits(undefined)).toBe(1)
  expect(failedWriteUnits({ a: { S: 'x'.repeat(1023) } })).toBe(1)
  expect(failedWriteUnits({ a: { S: 'x'.repeat(1024) } })).toBe(2)
})
