import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { CreateScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler'
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { CfnOutput, CustomResource, Duration, type Stack } from 'aws-cdk-lib'
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { AttributeType, type TablePropsV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler'
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { afterEach, describe, expect, it } from 'vitest'
import type { LocalCloud } from '../../../local/cloud.ts'
import { createBarrier, waitingCode } from '../barrier.ts'
import { bootTinyCloud, eventually, fixtureFunction, linesOf, synthesize } from '../tiny-cloud.ts'

let cloud: LocalCloud | undefined
afterEach(() => cloud?.stop())

const logged: string[] = []

async function boot(build: (stack: Stack) => void): Promise<LocalCloud> {
  logged.length = 0
  cloud = await bootTinyCloud(build, { log: ({ line }) => void logged.push(line) })
  return cloud
}

const inline = (stack: Stack, id: string, code: string) =>
  new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline(code),
    timeout: Duration.seconds(60),
  })

const answerOf = async (running: LocalCloud, name: string, event: object = {}) => {
  const result = await running.functions.find(name).invoke(event)
  expect(result).toMatchObject({ ok: true })
  return (result as { payload: { version: string; pid: number } }).payload
}

const table = (stack: Stack, id: string, props: Partial<TablePropsV2> = {}) =>
  new TableV2(stack, id, { partitionKey: { name: 'pk', type: AttributeType.STRING }, ...props })

describe('functions', () => {
  it('that have changed answer with their new code; what is under way ends on the old code, and others keep their process', async () => {
    const two = (version: string) => (stack: Stack) => {
      inline(stack, 'Changing', waitingCode(version))
      inline(stack, 'Same', waitingCode('same'))
    }
    const running = await boot(two('one'))
    const barrier = createBarrier()
    const same = await answerOf(running, 'Same')
    const underWay = answerOf(running, 'Changing', { folder: barrier.folder })
    await barrier.begun()

    await running.redeploy(synthesize(two('two')))

    expect(await answerOf(running, 'Changing')).toMatchObject({ version: 'two' })
    expect(await answerOf(running, 'Same')).toMatchObject({ pid: same.pid })
    barrier.open()
    const { version, pid } = await underWay
    expect(version).toBe('one')
    await eventually(
      'the end of the old process',
      () => !running.functions.find('Changing').pids().includes(pid),
    )
  })

  it('that the stack has lost are gone, after what they have under way; new ones run', async () => {
    const running = await boot(stack => void inline(stack, 'Old', waitingCode('old')))
    const barrier = createBarrier()
    const underWay = answerOf(running, 'Old', { folder: barrier.folder })
    await barrier.begun()

    await running.redeploy(synthesize(stack => void inline(stack, 'Fresh', waitingCode('fresh'))))

    expect(() => running.functions.find('Old')).toThrow('There is no function Old; there are Fresh')
    expect(await answerOf(running, 'Fresh')).toMatchObject({ version: 'fresh' })
    barrier.open()
    expect(await underWay).toMatchObject({ version: 'old' })
  })

  it('behind an HTTP API answer every request during the switch', async () => {
    const api = (version: string) => (stack: Stack) => {
      const handler = inline(stack, 'Api', `exports.handler = async () => ({ version: '${version}' })`)
      const http = new HttpApi(stack, 'Http')
      http.addRoutes({ path: `/${version}`, integration: new HttpLambdaIntegration('Route', handler) })
      http.addRoutes({ path: '/both', integration: new HttpLambdaIntegration('Both', handler) })
    }
    const running = await boot(api('one'))
    const get = async (path: string) => (await fetch(`${running.apiUrl}${path}`)).status
    const answers: number[] = []
    let isSwitched = false
    const asking = (async () => {
      while (!isSwitched) answers.push(await get('/both'))
    })()
    await eventually('an answer of the old deployment', () => answers.length > 0)

    await running.redeploy(synthesize(api('two')))
    isSwitched = true
    await asking

    expect(new Set(answers)).toEqual(new Set([200]))
    expect([await get('/one'), await get('/two')]).toEqual([404, 200])
  })
})

describe('stores', () => {
  it('keep their data; new tables, indexes and queues are there, and data that the stack has lost is named', async () => {
    const running = await boot(stack => {
      table(stack, 'Items')
      table(stack, 'Gone')
      new Queue(stack, 'Work')
    })
    const dynamo = new DynamoDBClient(running.clientOptions)
    const [TableName, QueueUrl] = [
      running.resource('AWS::DynamoDB::GlobalTable', 'Items').physicalId,
      running.resource('AWS::SQS::Queue', 'Work').physicalId,
    ]
    await dynamo.send(new PutItemCommand({ TableName, Item: { pk: { S: 'kept' }, kind: { S: 'a' } } }))
    const sqs = new SQSClient(running.clientOptions)
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'kept' }))

    await running.redeploy(
      synthesize(stack => {
        table(stack, 'Items', {
          timeToLiveAttribute: 'ttl',
          globalSecondaryIndexes: [
            { indexName: 'byKind', partitionKey: { name: 'kind', type: AttributeType.STRING } },
          ],
        })
        table(stack, 'More')
        new Queue(stack, 'Work', { visibilityTimeout: Duration.seconds(77) })
        new Queue(stack, 'Second')
      }),
    )

    const query = new QueryCommand({
      ...{ TableName, IndexName: 'byKind', KeyConditionExpression: 'kind = :k' },
      ExpressionAttributeValues: { ':k': { S: 'a' } },
    })
    expect((await dynamo.send(query)).Items).toMatchObject([{ pk: { S: 'kept' } }])
    const more = running.resource('AWS::DynamoDB::GlobalTable', 'More').physicalId
    await dynamo.send(new PutItemCommand({ TableName: more, Item: { pk: { S: 'new' } } }))
    const received = await sqs.send(new ReceiveMessageCommand({ QueueUrl }))
    expect(received.Messages).toMatchObject([{ Body: 'kept' }])
    expect(running.resource('AWS::SQS::Queue', 'Second').physicalId).toContain('Second')
    expect(logged.join('\n')).toMatch(/Tiny-Gone\w+ is not in the stack any more; its data is kept until/)
  })

  it.each([
    [
      'the key',
      { partitionKey: { name: 'id', type: AttributeType.STRING } },
      /cannot get the key id \(S\) instead of pk \(S\)/,
    ],
    [
      'the key of an index',
      {
        globalSecondaryIndexes: [
          { indexName: 'byKind', partitionKey: { name: 'other', type: AttributeType.STRING } },
        ],
      },
      /cannot get another key or projection for its index byKind .* give the new index another name/,
    ],
  ])('refuse another form of %s by name, and the old deployment continues', async (_what, props, message) => {
    const first = (stack: Stack) => {
      table(stack, 'Items', {
        globalSecondaryIndexes: [
          { indexName: 'byKind', partitionKey: { name: 'kind', type: AttributeType.STRING } },
        ],
      })
      inline(stack, 'Api', waitingCode('one'))
    }
    const running = await boot(first)

    const redeploying = running.redeploy(
      synthesize(stack => {
        table(stack, 'Items', props)
        inline(stack, 'Api', waitingCode('two'))
      }),
    )

    await expect(redeploying).rejects.toThrow(message)
    expect(await answerOf(running, 'Api')).toMatchObject({ version: 'one' })
  })
})

describe('a deployment that fails', () => {
  const thing =
    (name: string, extra: (stack: Stack) => void = () => {}) =>
    (stack: Stack) => {
      const registrar = fixtureFunction(stack, 'Registrar', 'registrar')
      const create = (id: string, properties: object) =>
        new CustomResource(stack, id, {
          ...{ serviceToken: registrar.functionArn, resourceType: 'Custom::Thing', properties },
        })
      create('Thing', { name })
      inline(stack, 'Api', waitingCode(name))
      extra(stack)
    }
  const refused = (stack: Stack) => {
    table(stack, 'Fresh')
    const registrar = fixtureFunction(stack, 'Other', 'registrar')
    const properties = { refuse: true }
    new CustomResource(stack, 'Wrong', {
      ...{ serviceToken: registrar.functionArn, resourceType: 'Custom::Thing', properties },
    })
  }

  it('takes back its custom resources and tables, says why, and leaves the old one running', async () => {
    const running = await boot(thing('one'))

    const redeploying = running.redeploy(synthesize(thing('two', refused)))

    await expect(redeploying).rejects.toThrow('Wrong (Custom::Thing) failed to Create: told to refuse')
    const asked = linesOf(running, 'Registrar').map(line => [line.RequestType, line.ResourceProperties.name])
    expect(asked).toEqual([
      ['Create', 'one'],
      ['Update', 'two'],
      ['Update', 'one'],
    ])
    expect(await answerOf(running, 'Api')).toMatchObject({ version: 'one' })
    expect(Object.keys(running.resources).some(id => id.startsWith('Fresh'))).toBe(false)
    const dynamo = new DynamoDBClient(running.clientOptions)
    await expect(
      dynamo.send(new GetItemCommand({ TableName: 'Tiny-Fresh', Key: { pk: { S: 'x' } } })),
    ).rejects.toThrow()
  })

  it('leaves room for the next one, which deletes custom resources that the stack has lost', async () => {
    const running = await boot(thing('one'))
    await expect(running.redeploy('/no/such/folder')).rejects.toThrow('There is no template of stack Tiny')

    await running.redeploy(
      synthesize(stack => {
        fixtureFunction(stack, 'Registrar', 'registrar')
        new CfnOutput(stack, 'Said', { value: 'hello' })
      }),
    )

    expect(linesOf(running, 'Registrar').map(line => line.RequestType)).toEqual(['Create', 'Delete'])
    expect(running.outputs).toEqual({ Said: 'hello' })
  })
})

it('deployments that are asked for at the same time follow each other', async () => {
  const version = (name: string) => synthesize(stack => void inline(stack, 'Api', waitingCode(name)))
  const running = await boot(stack => void inline(stack, 'Api', waitingCode('one')))

  const all = [
    running.redeploy(version('two')),
    running.redeploy('/nowhere'),
    running.redeploy(version('three')),
  ]

  expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
  expect(await answerOf(running, 'Api')).toMatchObject({ version: 'three' })
})

it('a cloud that has ended refuses a deployment', async () => {
  const running = await boot(stack => void new Queue(stack, 'Work'))
  await running.stop()

  await expect(running.redeploy(synthesize(stack => void new Queue(stack, 'Work')))).rejects.toThrow(
    'the local cloud has ended',
  )
})

it('mappings and schedules of a stack come and go; schedules of programs stay', async () => {
  const consumer = `exports.handler = async event => console.log(JSON.stringify(event.Records.map(({ body }) => body)))`
  const stackWith = (queues: readonly string[], rule: string) => (stack: Stack) => {
    const target = inline(stack, 'Consumer', consumer)
    for (const id of queues) target.addEventSource(new SqsEventSource(new Queue(stack, id)))
    new Schedule(stack, rule, {
      ...{ schedule: ScheduleExpression.rate(Duration.days(1)), target: new LambdaInvoke(target) },
    })
  }
  const running = await boot(stackWith(['First', 'Second'], 'Daily'))
  const sqs = new SQSClient(running.clientOptions)
  const send = (id: string, body: string) => {
    const QueueUrl = running.resource('AWS::SQS::Queue', id).physicalId
    return sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }))
  }
  const heard = (body: string) =>
    eventually(`${body} in the log`, () =>
      running.functions.find('Consumer').logs.some(line => line.includes(body)),
    )
  const first = running.mappings.find(({ sourceArn }) => sourceArn.includes('First'))
  const { arn } = running.functions.find('Consumer')
  await new SchedulerClient(running.clientOptions).send(
    new CreateScheduleCommand({
      ...{ Name: 'mine', ScheduleExpression: 'at(2099-01-01T00:00:00)', FlexibleTimeWindow: { Mode: 'OFF' } },
      Target: { Arn: arn, RoleArn: 'arn:aws:iam::000000000000:role/any' },
    }),
  )

  await running.redeploy(synthesize(stackWith(['First', 'Third'], 'Nightly')))

  expect(running.mappings.find(({ sourceArn }) => sourceArn.includes('First'))).toBe(first)
  expect(running.mappings.map(({ sourceArn }) => sourceArn).join()).not.toContain('Second')
  await send('First', 'by an old mapping')
  await send('Third', 'by a new mapping')
  await heard('by an old mapping')
  await heard('by a new mapping')
  const names = running.scheduler.schedules().map(({ Name }) => Name)
  expect(names).toContain('mine')
  expect(names.join()).toContain('Nightly')
  expect(names.join()).not.toContain('Daily')
})
