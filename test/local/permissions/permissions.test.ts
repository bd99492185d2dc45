import {
  DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { AnyPrincipal, ManagedPolicy, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import { compilePolicy, type RequestedAction, type Statement } from '../../../local/permissions/policy.ts'
import { aTinyCloud, fixtureFunction } from '../tiny-cloud.ts'

const ALLOW = { Effect: 'Allow', Action: 'sqs:*', Resource: '*' } as const
const like = (...keys: string[]) => ({ 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } })
const reading = (...keys: string[]): RequestedAction => ({
  action: 'dynamodb:GetItem',
  resource: 'arn:t',
  context: key => (key === 'dynamodb:LeadingKeys' ? keys : undefined),
})
const get = (Condition: Statement['Condition']): Statement => ({
  ...{ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: 'arn:t' },
  ...(Condition && { Condition }),
})

describe('a policy', () => {
  it.each<[string, Statement[], RequestedAction, boolean]>([
    ['allows nothing without statements', [], { action: 'sqs:SendMessage', resource: 'q' }, false],
    ['takes any text for *', [ALLOW], { action: 'sqs:SendMessage', resource: 'q' }, true],
    ['allows nothing of another service', [ALLOW], { action: 'dynamodb:GetItem', resource: 'q' }, false],
    [
      'matches actions in any case',
      [{ ...ALLOW, Action: 'SQS:send*' }],
      { action: 'sqs:SendMessage', resource: 'q' },
      true,
    ],
    [
      'matches resources only in the same case',
      [{ ...ALLOW, Resource: 'Q' }],
      { action: 'sqs:SendMessage', resource: 'q' },
      false,
    ],
    [
      'takes exactly one character for ?',
      [{ ...ALLOW, Resource: 'q-?' }],
      { action: 'sqs:X', resource: 'q-10' },
      false,
    ],
    ['takes dots literally', [{ ...ALLOW, Resource: 'a.b' }], { action: 'sqs:X', resource: 'axb' }, false],
    [
      'prefers a denial to a permission',
      [ALLOW, { ...ALLOW, Effect: 'Deny' }],
      { action: 'sqs:X', resource: 'q' },
      false,
    ],
    [
      'allows no action that `NotAction` names',
      [{ Effect: 'Allow', NotAction: 'sqs:Delete*', Resource: '*' }],
      { action: 'sqs:DeleteMessage', resource: 'q' },
      false,
    ],
    [
      'matches a request that names no resource',
      [{ ...ALLOW, Resource: 'q' }],
      { action: 'sqs:X', resource: undefined },
      true,
    ],
    ['allows several keys if each matches one value', [get(like('a:*', 'b:*'))], reading('a:1', 'b:1'), true],
    ['refuses a request with one key that does not match', [get(like('a:*'))], reading('a:1', 'b:1'), false],
    [
      'does not combine the conditions of two statements',
      [get(like('a:*')), get(like('b:*'))],
      reading('a:1', 'b:1'),
      false,
    ],
    [
      'holds `ForAllValues` for a request without keys',
      [get(like('a:*'))],
      { action: 'dynamodb:GetItem', resource: 'arn:t' },
      true,
    ],
    [
      'denies if any key matches `ForAnyValue`',
      [
        get(undefined),
        { ...get({ 'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': ['b:*'] } }), Effect: 'Deny' },
      ],
      reading('a:1', 'b:1'),
      false,
    ],
    [
      'does not deny if no key matches `ForAnyValue`',
      [
        get(undefined),
        { ...get({ 'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': ['b:*'] } }), Effect: 'Deny' },
      ],
      reading('a:1'),
      true,
    ],
    [
      'needs equal text for StringEquals',
      [get({ StringEquals: { 'dynamodb:LeadingKeys': 'a:*' } })],
      reading('a:1'),
      false,
    ],
    [
      'holds a condition with `IfExists` for a request without the key',
      [get({ StringEqualsIfExists: { 'iam:PassedToService': 'x' } })],
      reading('a:1'),
      true,
    ],
    [
      'allows in spite of a condition that cannot be evaluated here',
      [get({ IpAddress: { 'aws:SourceIp': '1.2.3.4' } })],
      reading('a:1'),
      true,
    ],
  ])('%s', (_name, statements, asked, allowed) => {
    expect(compilePolicy(statements).allows(asked)).toBe(allowed)
  })
})

describe('a call', () => {
  const logged: string[] = []
  const cloud = aTinyCloud(
    stack => {
      const key = { name: 'pk', type: AttributeType.STRING }
      const table = new TableV2(stack, 'Items', {
        partitionKey: key,
        globalSecondaryIndexes: [
          { indexName: 'byKind', partitionKey: { name: 'kind', type: AttributeType.STRING } },
        ],
      })
      const queue = new Queue(stack, 'Work')
      fixtureFunction(stack, 'Writer', 'writer', {
        environment: { TABLE: table.tableName, QUEUE_URL: queue.queueUrl },
      })
      const reader = new Role(stack, 'Reader', { assumedBy: new AnyPrincipal() })
      reader.addToPolicy(
        new PolicyStatement({
          actions: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
          resources: [table.tableArn, `${table.tableArn}/index/byKind`],
          conditions: like('mine#*'),
        }),
      )
      queue.grantSendMessages(reader)
      const foreign = new Role(stack, 'Foreign', { assumedBy: new AnyPrincipal() })
      foreign.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName('AmazonDynamoDBReadOnlyAccess'))
    },
    { log: ({ line }) => void logged.push(line) },
  )

  const roleOf = (name: string) => cloud.resource('AWS::IAM::Role', name)
  const idOf = (name: string) =>
    Object.keys(cloud.resources).find(id => cloud.resources[id] === roleOf(name)) ?? ''
  const as = (name: string) => ({
    ...cloud.clientOptions,
    credentials: { ...cloud.clientOptions.credentials, accessKeyId: idOf(name) },
    maxAttempts: 1,
  })
  const TableName = () => cloud.resource('AWS::DynamoDB::GlobalTable').physicalId
  const item = (pk: string) => new GetItemCommand({ TableName: TableName(), Key: { pk: { S: pk } } })
  const DENIED = { name: 'AccessDeniedException' }

  it('of a function is refused as IAM would refuse it, and the refusal is logged', async () => {
    const result = await cloud.functions.find('Writer').invoke({ put: { pk: { S: 'x' } } })

    expect(result).toMatchObject({ ok: false, error: { errorType: 'AccessDeniedException' } })
    expect(JSON.stringify(result)).toMatch(
      /assumed-role\/Tiny-Writer\w+\/Writer\w+ is not authorized to perform: dynamodb:PutItem on resource: arn:aws:dynamodb:/,
    )
    expect(cloud.denials).toContainEqual(expect.objectContaining({ action: 'dynamodb:PutItem' }))
    expect(logged.join('\n')).toContain('a call was denied')
  })

  it("under a role is limited to the role's keys: of items, of an index, of each part of a transaction", async () => {
    const dynamo = new DynamoDBClient(as('Reader'))
    const query = (kind: string) =>
      new QueryCommand({
        TableName: TableName(),
        IndexName: 'byKind',
        KeyConditionExpression: '#k = :k',
        ExpressionAttributeNames: { '#k': 'kind' },
        ExpressionAttributeValues: { ':k': { S: kind } },
      })
    const puts = (...keys: string[]) =>
      new TransactWriteItemsCommand({
        TransactItems: keys.map(pk => ({ Put: { TableName: TableName(), Item: { pk: { S: pk } } } })),
      })

    await dynamo.send(item('mine#1'))
    await dynamo.send(query('mine#kind'))
    await dynamo.send(puts('mine#1', 'mine#2'))

    await expect(dynamo.send(item('yours#1'))).rejects.toMatchObject(DENIED)
    await expect(dynamo.send(query('yours#kind'))).rejects.toMatchObject(DENIED)
    await expect(dynamo.send(puts('mine#1', 'yours#2'))).rejects.toMatchObject(DENIED)
  })

  it('that sends many messages needs the permission to send one', async () => {
    const sqs = new SQSClient(as('Reader'))
    const QueueUrl = cloud.resource('AWS::SQS::Queue').physicalId
    const batch = new SendMessageBatchCommand({ QueueUrl, Entries: [{ Id: '1', MessageBody: 'hello' }] })

    expect((await sqs.send(batch)).Successful).toHaveLength(1)
  })

  it('under a role whose managed policy is not in the template is allowed, and that is logged', async () => {
    await new DynamoDBClient(as('Foreign')).send(item('anything'))

    expect(logged.join('\n')).toMatch(/NOT SUPPORTED locally: Foreign\w+ is not held to its policies/)
  })

  it('of any other caller counts as a call of the account owner', async () => {
    await new DynamoDBClient(cloud.clientOptions).send(item('anything'))
  })
})
