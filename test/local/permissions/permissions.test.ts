import * as dynamodb from '@aws-sdk/client-dynamodb'
import {
  DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import * as eventsSdk from '@aws-sdk/client-eventbridge'
import * as secretsSdk from '@aws-sdk/client-secrets-manager'
import * as sqsSdk from '@aws-sdk/client-sqs'
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { AnyPrincipal, ManagedPolicy, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import {
  compilePolicy,
  type RequestedAction,
  type Statement,
  UNJUDGED,
} from '../../../local/permissions/policy.ts'
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

/** A request that a program writes without an SDK. */
type Hostile = {
  readonly target?: string
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
}

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
      'allows nothing on a condition about what is not judged',
      [get(like('a:*'))],
      { ...reading('a:1'), context: () => UNJUDGED },
      false,
    ],
    [
      'denies on a condition about what is not judged',
      [
        get(undefined),
        { ...get({ 'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': ['b:*'] } }), Effect: 'Deny' },
      ],
      { ...reading('a:1'), context: () => UNJUDGED },
      false,
    ],
    [
      'allows in spite of a condition that cannot be evaluated here',
      [get({ IpAddress: { 'aws:SourceIp': '1.2.3.4' } })],
      reading('a:1'),
      true,
    ],
  ])('%s', (_name, statements, requested, allowed) => {
    expect(compilePolicy(statements).allows(requested)).toBe(allowed)
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
      new Role(stack, 'Nobody', { assumedBy: new AnyPrincipal() })
      const keeper = new Role(stack, 'Keeper', { assumedBy: new AnyPrincipal() })
      keeper.addToPolicy(
        new PolicyStatement({
          actions: ['dynamodb:*'],
          resources: [table.tableArn, `${table.tableArn}/index/*`],
          conditions: {
            'ForAllValues:StringLike': {
              'dynamodb:LeadingKeys': ['mine#*'],
              'dynamodb:Attributes': ['pk', 'kind'],
            },
          },
        }),
      )
      const librarian = new Role(stack, 'Librarian', { assumedBy: new AnyPrincipal() })
      librarian.addToPolicy(
        new PolicyStatement({ actions: ['dynamodb:PartiQLSelect'], resources: [table.tableArn] }),
      )
      librarian.addToPolicy(new PolicyStatement({ actions: ['dynamodb:ListTables'], resources: ['*'] }))
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

  describe('that a program writes by hand:', () => {
    const [MINE, YOURS] = ['mine#1', 'yours#1'].map(key => ({ pk: { S: key } }))
    const legacy = { AttributeValueList: [YOURS?.pk], ComparisonOperator: 'EQ' }
    const schedule = {
      Target: { Arn: 'arn:aws:sqs:us-east-1:000000000000:x', RoleArn: 'arn:aws:iam::0:role/x' },
    }

    /** The name of the error that the request is answered with; `null` if there is none. */
    async function refusalOf(caller: string, service: string, call: Hostile): Promise<string> {
      const { target, method = 'POST', path = '/', body = {} } = call
      const response = await fetch(cloud.endpoint + path, {
        method,
        headers: {
          authorization: `AWS4-HMAC-SHA256 Credential=${idOf(caller)}/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`,
          'x-amz-security-token': cloud.clientOptions.credentials.sessionToken,
          ...(target !== undefined && { 'x-amz-target': target }),
        },
        ...(method !== 'GET' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      return String(response.headers.get('x-amzn-errortype'))
    }
    const namesOf = (sdk: object) =>
      Object.keys(sdk).filter(name => name.endsWith('Command') && name !== '$Command')
    const operationsOf = (sdk: object) => namesOf(sdk).map(name => name.slice(0, -'Command'.length))
    /** The same field, as it is written by the SDK, with spaces, and with an escaped letter. */
    const spelled = (field: string, value: string) => [
      JSON.stringify({ [field]: value }),
      `{ "${field}" : "${value}" }`,
      `{"\\u${field.charCodeAt(0).toString(16).padStart(4, '0')}${field.slice(1)}":"${value}"}`,
    ]

    const refuseAll = async (caller: string, service: string, calls: readonly Hostile[]) => {
      const refusals = await Promise.all(calls.map(call => refusalOf(caller, service, call)))
      expect(calls.filter((_, nth) => refusals[nth] !== 'AccessDeniedException')).toEqual([])
      return calls.length
    }

    it('a role without grants is denied every operation of every served service, in any spelling', async () => {
      const table = TableName()
      const queue = cloud.resource('AWS::SQS::Queue').physicalId
      const bodies = [
        '{}',
        'no JSON',
        ...spelled('TableName', table),
        ...spelled('StreamArn', `${table}/stream`),
      ]
      const dynamo = operationsOf(dynamodb).flatMap(name =>
        bodies.map(body => ({ target: `DynamoDB_20120810.${name}`, body })),
      )
      const streams = ['ListStreams', 'DescribeStream', 'GetShardIterator', 'GetRecords'].flatMap(name =>
        bodies.map(body => ({ target: `DynamoDBStreams_20120810.${name}`, body })),
      )
      const sqs = operationsOf(sqsSdk).flatMap(name =>
        ['{}', ...spelled('QueueUrl', queue)].map(body => ({ target: `AmazonSQS.${name}`, body })),
      )
      const secrets = operationsOf(secretsSdk).flatMap(name =>
        ['{}', ...spelled('SecretId', 'webhook')].map(body => ({ target: `secretsmanager.${name}`, body })),
      )
      const buses = operationsOf(eventsSdk).map(name => ({ target: `AWSEvents.${name}` }))
      const schedules = [
        '/schedules',
        '/schedules/x',
        '//schedules/x',
        '/schedule-groups/x',
        '/tags/x',
      ].flatMap(path => ['GET', 'POST', 'PUT', 'DELETE'].map(method => ({ method, path, body: schedule })))
      const functions = [
        '',
        '/Writer',
        '/Writer/invocations',
        '/Writer/code',
        '/Writer/invocations/x',
      ].flatMap(path =>
        ['GET', 'POST', 'DELETE'].map(method => ({ method, path: `/2015-03-31/functions${path}` })),
      )

      const played =
        (await refuseAll('Nobody', 'dynamodb', [...dynamo, ...streams])) +
        (await refuseAll('Nobody', 'sqs', sqs)) +
        (await refuseAll('Nobody', 'secretsmanager', secrets)) +
        (await refuseAll('Nobody', 'events', buses)) +
        (await refuseAll('Nobody', 'scheduler', schedules)) +
        (await refuseAll('Nobody', 'lambda', functions))
      expect(played).toBeGreaterThan(300)
    })

    it('a role with some grants is denied what they do not cover', async () => {
      const table = TableName()
      const statement = (text: string) => text.replaceAll('TABLE', `"${table}"`)
      const statements = [
        'SELECT * FROM TABLE',
        "SELECT * FROM TABLE WHERE pk = 'mine#1'",
        "INSERT INTO TABLE VALUE {'pk': 'yours#1'}",
        "UPDATE TABLE SET kind = 'x' WHERE pk = 'yours#1'",
        "DELETE FROM TABLE WHERE pk = 'yours#1'",
        'select "a from b" from TABLE',
        'SELECT * FROM TABLE."byKind"',
        '/* */ SELECT * FROM TABLE',
        'SELECT -- \n * FROM TABLE',
        'EXISTS(SELECT * FROM TABLE)',
        'SELECT a-- FROM TABLE\n FROM TABLE',
        'SELECT `"\\"\'"` FROM TABLE',
        'SELECT * FROM TABLE WHERE a = FROM TABLE',
      ].map(statement)
      const partiql = statements.flatMap(text => [
        { target: 'DynamoDB_20120810.ExecuteStatement', body: { Statement: text } },
        { target: 'DynamoDB_20120810.BatchExecuteStatement', body: { Statements: [{ Statement: text }] } },
        {
          target: 'DynamoDB_20120810.ExecuteTransaction',
          body: { TransactStatements: [{ Statement: text }] },
        },
      ])
      const queryOfMine = {
        KeyConditionExpression: 'pk = :a',
        ExpressionAttributeValues: { ':a': MINE?.pk },
      }
      const calls = [
        ['GetItem', { TableName: table, Key: YOURS, StreamArn: 'x' }],
        ['GetItem', `{"TableName":"none","TableName":"${table}","Key":{"pk":{"S":"yours#1"}}}`],
        ['PutItem', { TableName: table, Item: { ...MINE, secret: { S: 'x' } }, Expected: {} }],
        ['UpdateItem', { TableName: table, Key: MINE, AttributeUpdates: { secret: { Value: { S: 'x' } } } }],
        ['Query', { TableName: table, KeyConditions: { pk: legacy } }],
        [
          'Query',
          {
            TableName: table,
            KeyConditionExpression: 'pk = :k',
            ExpressionAttributeValues: { ':k': YOURS?.pk },
          },
        ],
        ['Scan', { TableName: table }],
        ['BatchGetItem', { RequestItems: { [table]: { Keys: [MINE, YOURS] } } }],
        ['BatchWriteItem', { RequestItems: { [table]: [{ PutRequest: { Item: YOURS } }] } }],
        ['TransactGetItems', { TransactItems: [{ Get: { TableName: table, Key: YOURS } }] }],
        ['ListTables', {}],
        // Members that the operation does not have: DynamoDB Local ignores them.
        ['GetItem', { TableName: table, Key: YOURS, ...queryOfMine }],
        ['GetItem', { TableName: table, Key: YOURS, RequestItems: { [table]: { Keys: [] } } }],
        ['PutItem', { TableName: table, Item: YOURS, Key: MINE }],
        ['PutItem', { TableName: table, Item: { ...YOURS, kind: MINE?.pk }, IndexName: 'byKind' }],
        ['Query', { TableName: table, KeyConditions: { pk: legacy }, Key: MINE }],
        ['Scan', { TableName: table, Key: MINE }],
        ['BatchGetItem', { RequestItems: { [table]: { Keys: [YOURS] } }, ...queryOfMine }],
        ['BatchGetItem', { RequestItems: { [table]: { Keys: [] } } }],
        ['TransactWriteItems', { TransactItems: [{ Put: { TableName: table, Item: YOURS, Key: MINE } }] }],
        // A value of two types, of which DynamoDB Local knows one.
        ['GetItem', { TableName: table, Key: { pk: { Z: 'mine#1', S: 'yours#1' } } }],
        ['GetItem', { TableName: table, Key: { pk: ['mine#1'] } }],
        // What a batch reads of each table.
        ['BatchGetItem', { RequestItems: { [table]: { Keys: [MINE], ProjectionExpression: 'pk, secret' } } }],
        ['BatchGetItem', { RequestItems: { [table]: { Keys: [MINE], AttributesToGet: ['secret'] } } }],
        // Requests that are no requests.
        ['ExecuteStatement', { Statement: 1 }],
        ['TransactWriteItems', { TransactItems: {} }],
        ['BatchGetItem', { RequestItems: null }],
      ] as const

      await refuseAll('Keeper', 'dynamodb', [
        ...partiql,
        ...calls.map(([name, body]) => ({ target: `DynamoDB_20120810.${name}`, body })),
      ])
      const queue = cloud.resource('AWS::SQS::Queue').physicalId
      await refuseAll('Reader', 'sqs', [
        { target: 'AmazonSQS.ReceiveMessage', body: { QueueUrl: `http://127.0.0.1/0/${queue}` } },
        {
          target: 'AmazonSQS.SendMessage',
          body: { QueueUrl: 'http://127.0.0.1/0/other/', QueueName: queue },
        },
        {
          target: 'AmazonSQS.CreateQueue',
          body: { QueueUrl: `http://127.0.0.1/0/${queue}`, QueueName: 'other' },
        },
        { target: 'PurgeAmazonSQS.Queue', body: { QueueUrl: `http://127.0.0.1/0/${queue}` } },
      ])
    })

    it('a service that is not served answers as before, and is reported once', async () => {
      const call = { target: 'TrentService.Decrypt' }

      expect(await refusalOf('Nobody', 'kms', call)).toBe('NotImplemented')
      expect(await refusalOf('Nobody', 'kms', call)).toBe('NotImplemented')
      expect(logged.filter(line => line.includes('called Decrypt of kms'))).toHaveLength(1)
    })

    it('a role is allowed what its grants cover, PartiQL and lists of tables included', async () => {
      const text = `SELECT * FROM "${TableName()}"`
      const calls = [
        { target: 'DynamoDB_20120810.ExecuteStatement', body: { Statement: text } },
        { target: 'DynamoDB_20120810.ListTables' },
      ]

      for (const call of calls) expect(await refusalOf('Librarian', 'dynamodb', call)).toBe('null')
    })
  })

  it('of any other caller counts as a call of the account owner', async () => {
    await new DynamoDBClient(cloud.clientOptions).send(item('anything'))
  })
})
