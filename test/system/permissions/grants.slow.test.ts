import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import {
  BatchGetCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, it } from 'vitest'
import { putDefinition } from '../../../shared/aws/dynamo/head/body-requests.ts'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { signedFetch } from '../../../shared/client/signed/signed-fetch.ts'
import type { FlowDefinition, FlowState } from '../../../shared/core/task/flow-state.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { createTableClient, type TableClient } from '../../../shared/table/table-client.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { dynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { setEnvironment } from '../../support/process-environment.ts'
import { aCanvas, aFlow, aSchedule, aTask } from '../../support/tasks/a-task.ts'
import { aWorkerFleet } from '../../support/workers/worker-fleet.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

/** These tests call as a user's programs, each under a role with one grant. */

const { system, aWorker } = aWorkerFleet()

/** The logical id of a role, with which the role's calls are signed. */
function roleOf(name: string): string {
  const { resources } = system.cloud
  const found = Object.keys(resources).filter(id => resources[id]?.type === 'AWS::IAM::Role')
  const [role, another] = found.filter(id => id.startsWith(name) && id.length === name.length + 8)
  if (!role || another) throw new Error(`no one role ${name} among ${found.join(', ')}`)
  return role
}

async function statusOf(role: string, method: string, path: string, body?: unknown): Promise<number> {
  const credentials = { ...system.cloud.clientOptions.credentials, accessKeyId: roleOf(role) }
  const response = await signedFetch({ credentials })(system.cloud.apiUrl + path, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  // A stream of events has no end.
  await response.body?.cancel()
  return response.status
}

/** AWS clients and a system whose calls are signed by the role. */
function awsAs(role: string) {
  const options = {
    ...system.cloud.clientOptions,
    credentials: { ...system.cloud.clientOptions.credentials, accessKeyId: roleOf(role) },
    maxAttempts: 1,
  }
  const table = String(system.cloud.outputs.TableName)
  const stores = dynamoStores(new DynamoDBClient(options), table)
  return {
    table,
    documents: stores.documents,
    sqs: new SQSClient(options),
    secrets: new SecretsManagerClient(options),
    system: { ...aMemorySystem(), ...stores } as System,
  }
}

/** The answers of a client of the table that runs under the role. The SDK finds its settings in the environment. */
async function withTableClientAs<Answer>(
  role: string,
  work: (client: TableClient) => Promise<Answer>,
): Promise<Answer> {
  const restore = setEnvironment({ ...system.cloud.environment, AWS_ACCESS_KEY_ID: roleOf(role) })
  try {
    return await work(createTableClient({ table: String(system.cloud.outputs.TableName) }))
  } finally {
    restore()
  }
}

const queueUrl = (name: string) => system.cloud.resource('AWS::SQS::Queue', name).physicalId
const DENIED = 'AccessDeniedException'
const denied = { name: DENIED }
/** The outcome of each call: the name of the error, or `answered`. */
async function answersOf(calls: ReadonlyArray<Promise<unknown>>): Promise<string[]> {
  const outcomes = await Promise.allSettled(calls)
  return outcomes.map(outcome => (outcome.status === 'rejected' ? outcome.reason.name : 'answered'))
}
const putOf = (table: string, id: string) => {
  const [type = '', key = ''] = id.split(':')
  return { TableName: table, Item: headItem(aTask({ type, key })) }
}

let open: string

beforeAll(async () => {
  open = await system.publish({ type: 'clip', key: 'open', input: {}, delayMs: 3_600_000 })
  await system.publish({ type: 'probe', key: 'open', input: {}, delayMs: 3_600_000 })
})

describe('a publisher', () => {
  it('publishes and reads over HTTP, and cannot change tasks or types', async () => {
    const task = { type: 'clip', key: 'http', input: {}, delayMs: 3_600_000 }

    expect(await statusOf('Publisher', 'POST', '/v1/tasks', task)).toBe(201)
    expect(await statusOf('Publisher', 'GET', '/v1/tasks/clip%3Ahttp')).toBe(200)
    const refused = await Promise.all([
      statusOf('Publisher', 'DELETE', '/v1/tasks/clip:http'),
      statusOf('Publisher', 'PATCH', '/v1/tasks/clip:http', { priority: 1 }),
      statusOf('Publisher', 'POST', '/v1/tasks/clip:http/cancel'),
      statusOf('Publisher', 'GET', '/v1/events'),
      statusOf('Publisher', 'POST', '/v1/types/clip/pause'),
      statusOf('Publisher', 'PUT', '/v1/types/clip', { kind: 'http' }),
      statusOf('Publisher', 'POST', '/v1/claims', { type: 'clip', workerId: 'w', limit: 1 }),
    ])
    expect(new Set(refused)).toEqual(new Set([403]))
  })

  it('of one type writes its tasks to the table, also in a transaction or with a tenant, and no tasks of other types', async () => {
    const { documents, table, system: own } = awsAs('ClipPublisher')

    const tenant = await publish(own, { type: 'clip', key: 'table', fairnessKey: 'a', delayMs: 3_600_000 })
    await documents.send(
      new TransactWriteCommand({ TransactItems: [{ Put: putOf(table, 'clip:transacted') }] }),
    )

    expect(tenant).toMatchObject({ ok: true, created: true })
    await expect(publish(own, { type: 'probe', key: 'table' })).rejects.toThrow()
    const both = [putOf(table, 'clip:both'), putOf(table, 'probe:both')].map(Put => ({ Put }))
    await expect(documents.send(new TransactWriteCommand({ TransactItems: both }))).rejects.toMatchObject(
      denied,
    )
    expect(await statusOf('ClipPublisher', 'POST', '/v1/tasks', { type: 'clip' })).toBe(403)
    expect(await statusOf('ClipPublisher', 'GET', '/v1/tasks/clip:table')).toBe(200)
    expect(await statusOf('ClipPublisher', 'GET', '/v1/tasks/probe:open')).toBe(403)
  })

  it('cannot delete a task, configure a type, or write a canvas or a schedule in the table', async () => {
    const { documents, table, sqs } = awsAs('Publisher')
    const Key = { pk: open, sk: 'head' }
    const type = { TableName: table, Key: { pk: 'types', sk: 'clip' } }
    const configure = {
      ...type,
      UpdateExpression: 'SET #json = :json',
      ExpressionAttributeNames: { '#json': 'json' },
      ExpressionAttributeValues: { ':json': '{}' },
    }

    const tries = [
      documents.send(new DeleteCommand({ TableName: table, Key })),
      documents.send(new PutCommand({ TableName: table, Item: type.Key })),
      documents.send(new UpdateCommand(configure)),
      documents.send(new PutCommand(putOf(table, 'schedule:nightly'))),
      documents.send(new PutCommand(putOf(table, 'canvas:c'))),
      documents.send(new ScanCommand({ TableName: table })),
      sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('MessagesJobsQueue'), MessageBody: '{}' })),
    ]

    expect(await answersOf(tries)).toEqual(tries.map(() => DENIED))
  })
})

describe('a client of the table', () => {
  const far = { delayMs: 3_600_000 }
  const ids = async (tasks: AsyncIterable<{ readonly id: string }>) => {
    const found: string[] = []
    for await (const { id } of tasks) found.push(id)
    return found
  }

  it('under a grant of all types publishes, within a transaction too, reads, lists and waits for results', async () => {
    await withTableClientAs('Shop', async client => {
      const { documents } = awsAs('Shop')
      const orders = system.cloud.resource('AWS::DynamoDB::Table', 'Orders').physicalId
      const entries = await client.transactItems('probe', { result: 'x'.repeat(2_000) }, { key: 'shop' })
      const putOrder = { Put: { TableName: orders, Item: { id: 'o1' } } }

      await documents.send(new TransactWriteCommand({ TransactItems: [putOrder, ...entries] }))

      expect(await client.result('probe', { key: 'shop' }, { timeoutMs: 60_000 })).toBe('x'.repeat(2_000))
      const retried = await client.publish('probe', { failures: 1 }, { key: 'retried', userId: 'anna' })
      await retried.result({ timeoutMs: 60_000 })
      expect((await client.get('probe:retried')).runs).toHaveLength(2)
      await expect.poll(() => ids(client.list({ type: 'probe' }))).toContain('probe:shop')
      await expect.poll(() => ids(client.list({ userId: 'anna' }))).toEqual(['probe:retried'])
      expect(await ids(client.list({ type: 'probe', status: 'running' }))).toEqual([])
    })
    expect(system.cloud.denials.filter(({ caller }) => caller === roleOf('Shop'))).toEqual([])
  })

  it('under a grant of one type does so for this type only, also with tenants, and lists no users', async () => {
    await withTableClientAs('ClipPublisher', async client => {
      const { documents } = awsAs('ClipPublisher')
      const entries = await client.transactItems('clip', {}, { key: 'tx', fairnessKey: 'a' })
      await documents.send(new TransactWriteCommand({ TransactItems: entries }))
      await client.publish('clip', {}, { key: 'waits', workerIds: ['nobody'] })

      expect(await client.get('clip:tx')).toMatchObject({ status: 'ready', fairnessKey: 'a' })
      expect(await client.get('clip:waits')).toMatchObject({ statusReason: 'no-worker' })
      await expect.poll(() => ids(client.list({ type: 'clip' }))).toContain('clip:tx')
      expect(await ids(client.list({ type: 'clip', status: 'running' }))).toEqual([])
      const others = await client.transactItems('probe', {}, { key: 'tx', ...far })
      const tries = [
        documents.send(new TransactWriteCommand({ TransactItems: others })),
        client.publish('probe', {}, far),
        client.get('probe:open'),
        client.list({ type: 'probe' }).next(),
        client.list({ userId: 'anna' }).next(),
      ]

      expect(await answersOf(tries)).toEqual(tries.map(() => DENIED))
    })
  })

  it('in a handler publishes within a transaction, without a grant of its own', async () => {
    await withTableClientAs('TasksHandlersProbeRole', async client => {
      const entries = await client.transactItems('clip', {}, { key: 'by-handler', fairnessKey: 'b' })

      await awsAs('TasksHandlersProbeRole').documents.send(
        new TransactWriteCommand({ TransactItems: entries }),
      )

      const { body } = await system.call('GET', '/v1/tasks/clip:by-handler')
      expect(body).toMatchObject({ status: 'ready', fairnessKey: 'b' })
    })
  })

  it('without a grant does nothing', async () => {
    await withTableClientAs('Reader', async client => {
      const calls = [client.publish('clip', {}), client.transactItems('clip', {}), client.get('clip:open')]

      expect(await answersOf(calls)).toEqual(calls.map(() => DENIED))
    })
  })
})

describe('a concurrency limit whose permits are in several shards', () => {
  const limits = { concurrency: { max: 20, key: 'userId' } }
  const configure = async (more: object) => {
    for (const type of ['clip', 'probe']) {
      const { status } = await system.call('PUT', `/v1/types/${type}`, { kind: 'handler', ...more })
      expect(status).toBe(200)
    }
  }
  const served = async (task: object) => {
    const id = await system.publish({ input: {}, userId: 'anna', ...task })
    return (await system.taskWhen(id, hasEnded)).status
  }

  it('admits the tasks of a handler and of a worker, and its use is shown to a publisher', async () => {
    const role = roleOf('StudioWorker')
    const deniedBefore = system.cloud.denials.length
    await configure({ limits })
    try {
      await aWorker(['--worker-id', 'sharded'], { AWS_ACCESS_KEY_ID: role })

      expect(await served({ type: 'probe', key: 'sharded' })).toBe('succeeded')
      expect(await served({ type: 'clip', key: 'sharded' })).toBe('succeeded')
      const shown = await withTableClientAs('ClipPublisher', async client => {
        await client.publish('clip', {}, { key: 'sees', userId: 'anna', workerIds: ['nobody'] })
        return client.get('clip:sees')
      })
      expect(shown).toMatchObject({ status: 'ready' })
      const callers = [role, roleOf('ClipPublisher'), roleOf('TasksHandlersProbeRole')]
      const denials = system.cloud.denials.slice(deniedBefore)
      expect(denials.filter(({ caller }) => callers.includes(caller))).toEqual([])
    } finally {
      await configure({})
    }
  })
})

describe('a reader', () => {
  it('reads everything over HTTP and writes nothing', async () => {
    const reads = [
      '/v1/tasks/clip:open',
      '/v1/tasks?type=clip',
      '/v1/types',
      '/v1/workers',
      '/v1/schedules',
      '/v1/events',
      '/healthz',
    ]

    for (const path of reads) expect(await statusOf('Reader', 'GET', path), path).toBe(200)
    expect(await statusOf('Reader', 'POST', '/v1/tasks', { type: 'clip' })).toBe(403)
    expect(await statusOf('Reader', 'POST', '/v1/tasks/clip:open/cancel')).toBe(403)
    expect(await statusOf('Reader', 'DELETE', '/v1/tasks/clip:open')).toBe(403)
    const { documents, table } = awsAs('Reader')
    const get = new GetCommand({ TableName: table, Key: { pk: open, sk: 'head' } })
    await expect(documents.send(get)).rejects.toMatchObject(denied)
  })
})

describe('an operator', () => {
  it('changes, cancels, retries and removes tasks, pauses and purges types, and publishes nothing', async () => {
    const id = await system.publish({ type: 'probe', key: 'operated', input: {}, delayMs: 3_600_000 })

    expect(await statusOf('Operator', 'PATCH', `/v1/tasks/${id}`, { priority: 2 })).toBe(200)
    expect(await statusOf('Operator', 'POST', `/v1/tasks/${id}/cancel`)).toBe(200)
    expect(await statusOf('Operator', 'POST', `/v1/tasks/${id}/retry`)).toBe(200)
    expect(await statusOf('Operator', 'DELETE', `/v1/tasks/${id}`)).toBe(204)
    expect(await statusOf('Operator', 'POST', '/v1/types/report/pause')).not.toBe(403)
    expect(await statusOf('Operator', 'POST', '/v1/tasks', { type: 'probe' })).toBe(403)
    expect(await statusOf('Operator', 'PUT', '/v1/types/probe', { kind: 'http' })).toBe(403)
    expect(await statusOf('Operator', 'PUT', '/v1/schedules/nightly', {})).toBe(403)
  })

  it('appears by its role in the operations of a task; the user of this machine appears by name', async () => {
    const id = await system.publish({ type: 'probe', key: 'told', input: {}, delayMs: 3_600_000 })
    await statusOf('Operator', 'PATCH', `/v1/tasks/${id}`, { priority: 2 })
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    const { body } = await system.call('GET', `/v1/tasks/${id}`)

    expect(body.operations).toEqual([
      { at: expect.any(String), what: 'patch', by: expect.stringMatching(/:assumed-role\/Baton-Operator/) },
      { at: expect.any(String), what: 'cancel', by: expect.stringMatching(/^local:./) },
    ])
  })

  it('of one type changes this type and its tasks, and no others', async () => {
    const as = (method: string, path: string, body?: unknown) => statusOf('ClipOperator', method, path, body)
    await system.publish({ type: 'clip', key: 'mine', input: {}, delayMs: 3_600_000 })

    expect(await as('PATCH', '/v1/tasks/clip:mine', { priority: 2 })).toBe(200)
    expect(await as('POST', '/v1/tasks/clip%3Amine/cancel')).toBe(200)
    expect(await as('GET', '/v1/tasks/clip:mine/why')).not.toBe(403)
    expect(await as('DELETE', '/v1/tasks/clip:mine')).toBe(204)
    expect(await as('POST', '/v1/types/clip/pause')).toBe(200)
    expect(await as('POST', '/v1/types/clip/resume')).toBe(200)
    const refused = await Promise.all([
      as('PATCH', '/v1/tasks/probe:open', { priority: 2 }),
      as('POST', '/v1/tasks/probe:open/cancel'),
      as('DELETE', '/v1/tasks/probe%3Aopen'),
      as('POST', '/v1/types/probe/pause'),
      as('POST', '/v1/types/clip-2/pause'),
      as('GET', '/v1/tasks?type=clip'),
      as('POST', '/v1/schedules/nightly/trigger'),
    ])
    expect(new Set(refused)).toEqual(new Set([403]))
  })
})

describe('a worker of some types', () => {
  it('serves them under its role, and none of its calls is denied', async () => {
    const role = roleOf('StudioWorker')
    await aWorker(['--worker-id', 'granted'], { AWS_ACCESS_KEY_ID: role })
    const large = 'x'.repeat(2_000)
    const ids = [
      await system.publish({ type: 'clip', key: 'served', input: { result: large, sleepMs: 1_500 } }),
      await system.publish({ type: 'clip', key: 'retried', input: { failures: 1 } }),
      await system.publish({ type: 'clip', key: 'for-it', input: {}, workerIds: ['granted'] }),
    ]

    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded)))

    expect(tasks.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
    expect(system.cloud.denials.filter(({ caller }) => caller === role)).toEqual([])
  })

  it('cannot read or write tasks, queues and places of other types, and cannot delete a task', async () => {
    const { documents, table, sqs, secrets } = awsAs('StudioWorker')
    const Key = { pk: 'probe:open', sk: 'head' }
    const place = {
      TableName: table,
      IndexName: 'place',
      KeyConditionExpression: '#ppk = :ppk',
      ExpressionAttributeNames: { '#ppk': 'ppk' },
    }
    const placeOf = (type: string) =>
      new QueryCommand({ ...place, ExpressionAttributeValues: { ':ppk': `ready#${type}#0` } })

    await documents.send(placeOf('clip'))
    const tries = [
      documents.send(placeOf('probe')),
      documents.send(new GetCommand({ TableName: table, Key })),
      documents.send(
        new BatchGetCommand({ RequestItems: { [table]: { Keys: [{ ...Key, pk: open }, Key] } } }),
      ),
      documents.send(new PutCommand(putOf(table, 'probe:open'))),
      documents.send(new DeleteCommand({ TableName: table, Key: { pk: open, sk: 'head' } })),
      documents.send(new PutCommand({ TableName: table, Item: { pk: 'permits#probe', sk: 'permits' } })),
      documents.send(new PutCommand({ TableName: table, Item: { pk: 'types', sk: 'clip' } })),
      sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('ProbeTasksQueue') })),
      sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('MessagesWakeQueue'), MessageBody: '{}' })),
      secrets.send(new GetSecretValueCommand({ SecretId: 'Baton/webhook/key' })),
    ]

    expect(await answersOf(tries)).toEqual(tries.map(() => DENIED))
  })
})

describe('a handler', () => {
  it('cannot read secrets, receive from other queues, configure types, or delete tasks', async () => {
    const { documents, table, sqs, secrets } = awsAs('TasksHandlersProbeRole')

    const tries = [
      secrets.send(new GetSecretValueCommand({ SecretId: 'Baton/webhook/key' })),
      sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl('VideoTasksQueue') })),
      sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('MessagesJobsQueue'), MessageBody: '{}' })),
      documents.send(new PutCommand({ TableName: table, Item: { pk: 'types', sk: 'probe' } })),
      documents.send(new DeleteCommand({ TableName: table, Key: { pk: open, sk: 'head' } })),
      documents.send(new PutCommand(putOf(table, 'schedule:nightly'))),
    ]

    expect(await answersOf(tries)).toEqual(tries.map(() => DENIED))
  })

  it('with `otherTypes: []` publishes tasks of its own type only, and a refused publish fails the task with the reason', async () => {
    const own = await system.publish({ type: 'alone', key: 'own', input: { publishes: 'alone' } })
    const other = await system.publish({ type: 'alone', key: 'other', input: { publishes: 'video' } })

    expect(await system.taskWhen(own, hasEnded)).toMatchObject({ status: 'succeeded' })
    // The head has a short message. The record of the run, which is written later, has the whole one.
    const saying = 'is not authorized to perform: dynamodb:'
    const refused = await system.taskWhen(other, ({ error }) => error?.message.includes(saying) ?? false)
    expect(refused).toMatchObject({ status: 'failed' })
    expect(system.cloud.denials.splice(0)).toContainEqual(
      expect.objectContaining({ caller: expect.stringContaining('Alone') }),
    )
  })
})

describe('heads that a limited program writes by hand', () => {
  /** Programs, by their roles, and a type whose heads each may write. None may write tasks of the types in `OTHERS`. */
  const PROGRAMS = [
    ['ClipPublisher', 'clip'],
    ['StudioWorker', 'video'],
    ['TasksHandlersAloneRole', 'alone'],
  ] as const
  const OTHERS = ['probe', 'word-count', 'note', 'resource.check', 'webhook', 'encode', 'desk'] as const
  const PAIRS = PROGRAMS.flatMap(([role, own]) => OTHERS.map(other => [role, own, other] as const))
  const { ulid } = createSeededChance(7)
  const born = () => ulid(Date.now())
  const put = async (role: string, task: Head, parts: object = {}) => {
    const { documents, table } = awsAs(role)
    await documents.send(new PutCommand({ TableName: table, Item: { ...headItem(task), ...parts } }))
    return task.id
  }
  const hostileTasksOf = async (type: string) => {
    const { body } = await system.call('GET', `/v1/tasks?type=${type}&limit=100`)
    return body.items.filter((one: { id: string; parentId?: string }) =>
      [one.id, one.parentId ?? ''].some(id => id.includes('hostile')),
    )
  }
  /** The places in a head where a callback of another type may hide. */
  const callbackForms = (own: string, other: string): ReadonlyArray<readonly PublishRequest[]> => {
    const hostile = { type: other, input: {} }
    return [
      [hostile],
      [{ ...hostile, key: `hostile-${own}` }],
      [{ ...hostile, key: 'hostile', ifExists: 'restart' }],
      [{ type: own, key: 'hostile-own', delayMs: 3_600_000, onSuccess: [hostile] }],
      [{ ...hostile, onError: [hostile] }, { ...hostile, delayMs: 1, debounce: { ms: 1 } } as PublishRequest],
    ]
  }
  const KINDS: Readonly<Record<string, 'webhook' | 'http'>> = { webhook: 'webhook', desk: 'http' }
  const stepOf = (type: string) =>
    ({ type, kind: KINDS[type] ?? 'handler', ordering: 'arrival', shards: 4 }) as const
  /** A flow at its first step, and one that undoes it. */
  const forwardAndBack = (definition: FlowDefinition): FlowState[] => {
    const forward = { definition, reachedStep: 0, presentStep: 0, direction: 'do' as const, steps: {} }
    const failed = { state: 'failed' as const, do: { attempts: 1 } }
    return [forward, { ...forward, direction: 'undo', steps: { 0: failed } }]
  }
  const notDispatched = (id: string) =>
    system.cloud.functions
      .find('Planner')
      .logs.some(line => line.includes('is not dispatched') && line.includes(`"${id}"`))
  const owing = (
    type: string,
    key: string,
    state: 'succeeded' | 'failed',
    callbacks: readonly PublishRequest[],
  ) => {
    const list = callbacks as unknown as Json[]
    const [onSuccess, onError] = state === 'succeeded' ? [list, []] : [[], list]
    const body = { inline: { onSuccess, onError } }
    const counts = { onSuccess: onSuccess.length, onError: onError.length }
    const ended = { state, owes: true as const, finishedAt: Date.now(), updatedAt: Date.now() }
    return aTask({ type, key, born: born(), ...ended, callbacks: { body, ...counts } })
  }

  beforeAll(async () => {
    await system.call('PUT', '/v1/types/desk', { kind: 'http' })
  })

  it('publish no callback of another type: each stays owed, and its task says which grant it lacks', async () => {
    const heads = PAIRS.flatMap(([role, own, other]) =>
      callbackForms(own, other).flatMap((callbacks, nth) =>
        (['succeeded', 'failed'] as const).map(state => {
          const head = owing(own, `hostile-${state}-${other}-${nth}`, state, callbacks)
          return [role, head] as const
        }),
      ),
    )
    const ids: string[] = []
    for (const [role, head] of heads) ids.push(await put(role, head))

    expect(ids).toHaveLength(210)
    for (const id of ids) {
      const why = await system.answerWhen(`/v1/tasks/${id}/why`, ({ sentence }) =>
        sentence.includes('cannot be'),
      )
      expect(why.sentence, id).toMatch(
        /must not be '.*' to the otherTypes of the handlers, or the types of the grants/,
      )
    }
    for (const other of OTHERS) expect(await hostileTasksOf(other), other).toEqual([])
  })

  it('start no step of another type and no webhook: the planner does not dispatch them, and no claim takes them', async () => {
    const ids: string[] = []
    for (const [role, own, other] of PAIRS) {
      const { documents, table } = awsAs(role)
      const definition = aFlow({ steps: [{ name: 'hostile', do: stepOf(other), undo: stepOf(other) }] })
      await sdkDocuments(documents).put(putDefinition(table, definition))
      for (const [nth, flow] of forwardAndBack(definition).entries()) {
        const key = `hostile-flow-${other}-${nth}`
        ids.push(await put(role, aTask({ type: own, key, kind: 'flow', born: born(), flow })))
      }
    }
    for (const [role, own] of PROGRAMS)
      ids.push(await put(role, aTask({ type: own, key: 'hostile-webhook', kind: 'webhook', born: born() })))

    // No task of kind http is dispatched: its workers ask for it.
    for (const id of ids.filter(id => !id.includes('desk')))
      await expect.poll(() => notDispatched(id), { timeout: 60_000 }).toBe(true)
    const claims = await system.call('POST', '/v1/claims', { type: 'desk', workerId: 'w', limit: 100 })
    expect(claims.body.claims).toEqual([])
    for (const id of ids) {
      const { body } = await system.call('GET', `/v1/tasks/${id}`)
      expect(body, id).toMatchObject({ statusReason: 'type-not-allowed', runs: [] })
    }
    const { body: why } = await system.call('GET', `/v1/tasks/${ids[0]}/why`)
    expect(why.sentence).toMatch(/its step hostile must not be 'probe'.* add 'probe' to the otherTypes/)
  })

  it('pose as no schedule and no canvas', async () => {
    const task = { type: 'probe', key: 'hostile-tick', input: {} }
    for (const [role, own] of PROGRAMS) {
      const pk = `${own}:hostile-schedule`
      await put(role, aSchedule({ born: born(), input: { inline: task } }), { pk })
      await put(role, aCanvas({ born: born() }), { pk: `${own}:hostile-canvas` })
    }
    await system.call('PUT', '/v1/schedules/control', {
      everyMs: 1_000,
      task: { type: 'clip', tags: { by: 'control' } },
    })

    await system.answerWhen('/v1/tasks?type=clip&tag=by%3Acontrol', ({ items }) => items.length > 1)

    await system.call('DELETE', '/v1/schedules/control')
    expect(await hostileTasksOf('probe')).toEqual([])
    for (const [, own] of PROGRAMS)
      expect((await system.call('GET', `/v1/tasks/${own}:hostile-schedule`)).body.type).toMatch(/unreadable/)
  })

  it('and a publish over HTTP is refused with the field and the grant, wherever a task names another type', async () => {
    const body = { type: 'clip', input: {}, onError: [{ type: 'probe' }] }
    const tries = [
      ['POST', '/v1/tasks', body, 'onError.0.type'],
      ['POST', '/v1/tasks/batch', { tasks: [body] }, 'onError.0.type'],
      ['PUT', '/v1/schedules/hostile', { everyMs: 60_000, task: body }, 'task.onError.0.type'],
    ] as const

    for (const [method, path, given, field] of tries) {
      const { body: answer } = await system.call(method, path, given)
      const text = JSON.stringify(answer)
      expect(text).toContain(field)
      expect(text).toContain("add 'probe' to the otherTypes of the handlers")
    }
    const put = await system.call('PUT', '/v1/types/clip', { kind: 'handler', otherTypes: ['probe'] })
    expect([put.status, put.body.detail]).toEqual([400, expect.stringContaining('otherTypes')])
    expect((await system.call('GET', '/v1/types/clip')).body.otherTypes).toEqual([])
  })
})
