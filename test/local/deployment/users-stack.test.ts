import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { CfnOutput, CfnResource, Fn, type Stack } from 'aws-cdk-lib'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { CfnFunction, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { afterEach, expect, it } from 'vitest'
import type { LocalCloud } from '../../../local/cloud.ts'
import { waitingCode } from '../barrier.ts'
import { bootTinyCloud, eventually, fixtureFunction, linesOf, synthesize } from '../tiny-cloud.ts'

/** What else stands in the stack of a task system: functions, queues and tables run, and the rest is named. */

const clouds: LocalCloud[] = []
afterEach(async () => {
  await Promise.all(clouds.splice(0).map(cloud => cloud.stop()))
})

const logged: string[] = []

async function boot(build: (stack: Stack) => void): Promise<LocalCloud> {
  const cloud = await bootTinyCloud(build, {
    log: ({ source, line }) => void logged.push(`${source}: ${line}`),
  })
  clouds.push(cloud)
  return cloud
}

const inline = (stack: Stack, id: string, environment: Record<string, string> = {}) =>
  new LambdaFunction(stack, id, {
    ...{ runtime: Runtime.NODEJS_24_X, handler: 'index.handler', environment },
    code: Code.fromInline(waitingCode('one')),
  })

const aStack = (stack: Stack) => {
  const uploads = new Bucket(stack, 'Uploads')
  new CfnResource(stack, 'Search', { type: 'AWS::OpenSearchService::Domain' })
  const python = new LambdaFunction(stack, 'Resize', {
    ...{ runtime: Runtime.PYTHON_3_13, handler: 'index.handler', code: Code.fromInline('x = 1') },
  })
  python.addEventSource(new SqsEventSource(new Queue(stack, 'Images')))
  new CfnFunction(stack, 'Container', {
    ...{ packageType: 'Image', code: { imageUri: 'x' }, role: 'arn:aws:iam::000000000000:role/x' },
  })
  inline(stack, 'Elsewhere', { SHARED: Fn.importValue('of-another-stack') })
  inline(stack, 'Api', { BUCKET: uploads.bucketRegionalDomainName })
  new CfnOutput(stack, 'Bucket', { value: uploads.bucketArn })
}

it('resources that cannot run here are named once, by the path of their construct; the rest runs', async () => {
  logged.length = 0
  const cloud = await boot(aStack)

  await cloud.redeploy(synthesize(aStack))

  expect(cloud.unsupported).toEqual(
    expect.arrayContaining([
      'Tiny/Uploads (AWS::S3::Bucket)',
      'Tiny/Search (AWS::OpenSearchService::Domain)',
      'Tiny/Resize (AWS::Lambda::Function)',
      'Tiny/Container (AWS::Lambda::Function)',
      'Tiny/Elsewhere (AWS::Lambda::Function)',
    ]),
  )
  const lines = (about: string) => logged.filter(line => line.includes(about))
  expect(lines('Tiny/Resize (')).toEqual([
    'cloud: NOT SUPPORTED locally: Tiny/Resize (AWS::Lambda::Function): its runtime is python3.13; only Node runs here',
  ])
  expect(lines('Tiny/Uploads')).toHaveLength(1)
  expect(lines('Tiny/Resize/SqsEventSource')[0]).toContain('its function does not run')
  expect(lines('Tiny/Elsewhere')[0]).toContain('Fn::ImportValue')
  expect(await cloud.functions.find('Api').invoke({})).toMatchObject({ payload: { version: 'one' } })
  expect(await cloud.functions.find('Resize').invoke({})).toMatchObject({
    error: { errorMessage: 'The function does not run here: its runtime is python3.13; only Node runs here' },
  })
})

it('an alias of a function runs the function', async () => {
  const cloud = await boot(stack => {
    const consumer = fixtureFunction(stack, 'Consumer', 'queue-consumer')
    consumer.addAlias('live').addEventSource(new SqsEventSource(new Queue(stack, 'Work')))
  })
  const QueueUrl = cloud.resource('AWS::SQS::Queue').physicalId
  const MessageBody = JSON.stringify({ id: 'by the alias' })

  await new SQSClient(cloud.clientOptions).send(new SendMessageCommand({ QueueUrl, MessageBody }))

  await eventually('the message', () => linesOf(cloud, 'Consumer').length === 1)
  expect(cloud.unsupported).toEqual([])
})

it('lines of the log name the function that wrote them', async () => {
  const lines: unknown[] = []
  const cloud = await bootTinyCloud(stack => void fixtureFunction(stack, 'Writer', 'writer'), {
    log: line => void lines.push(line),
  })
  clouds.push(cloud)

  await cloud.functions.find('Writer').invoke({ said: 'hello' })

  // The answer and the line come by different pipes, so the line may be the later one.
  const source = cloud.functions.find('Writer').logicalId
  await expect.poll(() => lines).toContainEqual({ source, line: '{"said":"hello"}' })
})

it('two clouds of one process run side by side, each with its own data', async () => {
  const withTable = (stack: Stack) => {
    const items = new TableV2(stack, 'Items', { partitionKey: { name: 'pk', type: AttributeType.STRING } })
    const writer = fixtureFunction(stack, 'Writer', 'writer', { environment: { TABLE: items.tableName } })
    items.grantReadWriteData(writer)
  }
  const [one, other] = await Promise.all([boot(withTable), boot(withTable)])
  const read = async (cloud: LocalCloud) => {
    const TableName = cloud.resource('AWS::DynamoDB::GlobalTable').physicalId
    const get = new GetItemCommand({ TableName, Key: { pk: { S: 'mine' } } })
    return (await new DynamoDBClient(cloud.clientOptions).send(get)).Item
  }

  await one.functions.find('Writer').invoke({ put: { pk: { S: 'mine' } } })

  expect(await read(one)).toEqual({ pk: { S: 'mine' } })
  expect(await read(other)).toBeUndefined()
  expect(one.apiUrl).not.toBe(other.apiUrl)
})
