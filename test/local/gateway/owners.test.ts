import { describe, expect, it } from 'vitest'
import { type Call, jsonAnswer } from '../../../local/gateway/call.ts'
import { createLedger } from '../../../local/gateway/ledger.ts'
import { createOwners } from '../../../local/gateway/owners.ts'

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
const theOwners = (...types: readonly string[]) => createOwners(name => types.includes(name))
const key = (pk: string) => ({ pk: { S: pk }, sk: { S: 'head' } })
const dispatch = (id: string) => JSON.stringify({ v: 2, id, head: { pk: 'other:1' } })

describe('a call of DynamoDB is charged to', () => {
  it.each([
    ['the task of its item', 'UpdateItem', { Key: key('mail:a') }, ['mail:a']],
    ['a task whose key has marks of JSON', 'PutItem', { Item: key('mail:"a\\b#c"') }, ['mail:"a\\b#c"']],
    [
      'the tasks of a transaction, once each',
      'TransactWriteItems',
      {
        TransactItems: [
          { Put: { Item: key('mail:a') } },
          { Update: { Key: key('mail:a') } },
          { Put: { Item: key('pay:b') } },
        ],
      },
      ['mail:a', 'pay:b'],
    ],
    ['the type of what is counted for it', 'UpdateItem', { Key: key('activity#mail') }, ['mail']],
    ['no type that was never seen', 'UpdateItem', { Key: key('activity#pay') }, []],
    ['no worker whose id has a colon', 'PutItem', { Item: key('target#mail:a') }, []],
    ['the system, for an item that tasks share', 'GetItem', { Key: key('types') }, []],
    [
      'no task that the text of another task names',
      'PutItem',
      { Item: { ...key('mail:a'), input: { S: '{"pk":{"S":"pay:b"}}' } } },
      ['mail:a'],
    ],
  ])('%s', (_what, operation, body, owners) => {
    expect(theOwners('mail').ofCall(aCall('dynamodb', operation, body), nothing)).toEqual(owners)
  })

  it('the tasks that a query has found', () => {
    const call = aCall('dynamodb', 'Query', {
      ExpressionAttributeValues: { ':partition': { S: 'ready#mail#0' } },
    })

    expect(theOwners().ofCall(call, jsonAnswer(200, { Items: [key('mail:a'), key('mail:b')] }))).toEqual([
      'mail:a',
      'mail:b',
    ])
    expect(theOwners().ofCall(call, jsonAnswer(200, { Items: [] }))).toEqual([])
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
})

describe('an invocation is charged to', () => {
  it('the tasks of its messages', () => {
    const event = {
      Records: [{ body: dispatch('mail:a') }, { body: 'no JSON' }, { body: dispatch('mail:b') }],
    }

    expect(theOwners().ofInvocation(event, TRACE)).toEqual(['mail:a', 'mail:b'])
  })

  it('the tasks and types whose items the stream has', () => {
    const event = {
      Records: [{ dynamodb: { Keys: key('mail:a') } }, { dynamodb: { Keys: key('activity#mail') } }],
    }

    expect(theOwners('mail').ofInvocation(event, TRACE)).toEqual(['mail:a', 'mail'])
  })

  it('the tasks that a request of the API has named, as the request is', () => {
    const owners = theOwners()
    const followed = owners.follow(TRACE, false)

    owners.ofCall(aCall('dynamodb', 'PutItem', { Item: key('mail:a') }), nothing)
    owners.ofCall(aCall('dynamodb', 'PutItem', { Item: key('pay:b') }, OTHER_TRACE), nothing)

    expect(owners.ofInvocation({ version: '2.0' }, TRACE)).toEqual(['mail:a'])
    expect(followed.end()).toEqual(['mail:a'])
    expect(owners.ofInvocation({ version: '2.0' }, TRACE)).toEqual([])
  })

  it('the system, when the dashboard reads', () => {
    const owners = theOwners()
    const followed = owners.follow(TRACE, true)

    expect(owners.ofCall(aCall('dynamodb', 'GetItem', { Key: key('mail:a') }), nothing)).toEqual([])
    expect(owners.ofInvocation({ version: '2.0' }, TRACE)).toEqual([])
    expect(followed.end()).toEqual([])
  })

  it('the system, when a schedule invokes', () => {
    expect(theOwners().ofInvocation({ sweep: true }, TRACE)).toEqual([])
  })
})

it('a chain without a root is not followed: its header comes from the caller', () => {
  const owners = theOwners()
  const followed = owners.follow('nonsense', true)

  expect(owners.ofCall(aCall('dynamodb', 'GetItem', { Key: key('mail:a') }, 'nonsense'), nothing)).toEqual([
    'mail:a',
  ])
  expect(followed.end()).toEqual([])
})

it('a line of a log is charged to its task', () => {
  expect(theOwners().ofLine('{"level":"INFO","message":"sent","taskId":"mail:a"}')).toEqual(['mail:a'])
  expect(theOwners().ofLine('plain text')).toEqual([])
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
