import { describe, expect, it } from 'vitest'
import { named, synthesise, targetOf } from '../synthesised.ts'

type Statement = {
  readonly Effect: string
  readonly Action: string | string[]
  readonly Resource: unknown
  readonly Condition?: Record<string, Record<string, string[]>>
}

const { ofType } = synthesise()
const policies = ofType('AWS::IAM::Policy')
const listOf = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value])
const statements = policies.flatMap(({ id, Properties }) =>
  (Properties.PolicyDocument.Statement as Statement[]).map(
    (statement, index) => [`${id} #${index}`, statement] as const,
  ),
)

/** A resource as text, references in braces: `{TableArn}/index/view`. */
function textOf(resource: unknown): string {
  if (typeof resource === 'string') return resource
  const join = (resource as { 'Fn::Join'?: [string, unknown[]] })['Fn::Join']
  return join ? join[1].map(textOf).join(join[0]) : `{${targetOf(resource)}}`
}

/** What the role of `name` may do: `service:Action resource`, sorted; logs and traces left out. */
function allowedTo(name: string): string[] {
  const own = policies.filter(({ id }) => id.startsWith(`Tasks${name}Role`))
  return own
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[])
    .flatMap(({ Effect, Action, Resource, Condition = {} }) => {
      const keys = Object.values(Condition).flatMap(wanted => wanted['dynamodb:LeadingKeys'] ?? [])
      const on = keys.length > 0 ? ` on ${keys.join(' ')}` : ''
      const not = Effect === 'Deny' ? 'never ' : ''
      return listOf(Action).flatMap(action =>
        listOf(Resource).map(resource => `${not}${action} ${shorten(textOf(resource))}${on}`),
      )
    })
    .filter(permission => !/^(logs|xray):/.test(permission))
    .sort()
}

/** Removes hashes of logical ids and the account's part of ARNs, which do not matter here. */
const shorten = (text: string) =>
  text
    .replace(/[0-9A-F]{8}(?=\})/g, '')
    .replace(/arn:\{AWS::Partition\}:([a-z-]+):\{AWS::Region\}:\{AWS::AccountId\}:/, '$1/')

const consume = (queue: string) =>
  ['ChangeMessageVisibility', 'DeleteMessage', 'GetQueueAttributes', 'GetQueueUrl', 'ReceiveMessage'].map(
    action => `sqs:${action} {${queue}}`,
  )

const planAhead = [
  'iam:PassRole {TasksFarTimersRole}',
  'scheduler:CreateSchedule scheduler/schedule/{TasksFarTimersGroup}/*',
]
const toWaker = 'sqs:SendMessage {TasksMessagesWakeQueue}'
const toDeadLetters = 'sqs:SendMessage {TasksMessagesDeadLettersQueue}'
const toJobs = 'sqs:SendMessage {TasksMessagesJobsQueue}'
const send = ['sqs:SendMessage sqs/Baton-q-*', toWaker, toJobs]
const onTable = (...actions: string[]) => actions.map(action => `dynamodb:${action} {TasksTable}`)
const onKeys = (actions: readonly string[], ...keys: string[]) =>
  onTable(...actions).map(permission => `${permission} on ${keys.join(' ')}`)
const inPlaces = (...keys: string[]) => `dynamodb:Query {TasksTable}/index/place on ${keys.join(' ')}`
const ofTypes = [
  ...onKeys(['GetItem', 'Query', 'UpdateItem'], 'types'),
  ...onKeys(['GetItem', 'PutItem'], 'steps#*'),
]
const handedOn = onKeys(['GetItem'], 'canvas:*')
/** The permissions in the table of a handler that may publish every type. */
const anyTask = [
  ...onKeys(['BatchGetItem'], '*:*'),
  ...onKeys(['GetItem', 'PutItem', 'UpdateItem'], ...['*:*', 'front#*#*', 'starts#*', 'turns#*#*']),
  ...onKeys(['BatchGetItem', 'UpdateItem'], 'permits#*'),
  inPlaces('ready#*#*'),
  ...onKeys(['PutItem', 'UpdateItem'], 'canvas:*', 'schedule:*').map(permission => `never ${permission}`),
  ...handedOn,
  ...ofTypes,
]
/** The permissions of a function of the system, which reads these indexes. */
const allTasks = (...indexes: string[]) => [
  ...onTable('BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
  ...indexes.map(index => `dynamodb:Query {TasksTable}/index/${index}`),
]
const depthOfQueues = 'sqs:GetQueueAttributes sqs/Baton-q-*'
/** All permissions of such a handler. */
const handler = (queue: string) => [...anyTask, ...consume(queue), `sqs:SendMessage {${queue}}`]

describe('Every statement', () => {
  it.each(statements)('%s names its actions', (_id, { Action }) => {
    for (const action of listOf(Action)) expect(action).not.toContain('*')
  })

  it.each(statements)(
    '%s names its resources, unless the service takes none',
    (_id, { Action, Resource }) => {
      const takesNone = listOf(Action).every(action => action.startsWith('xray:Put'))

      if (!takesNone) for (const resource of listOf(Resource)) expect(textOf(resource)).not.toBe('*')
    },
  )

  it.each(statements)('%s ends in a wildcard only within what belongs to the system', (_id, { Resource }) => {
    const open = listOf(Resource)
      .map(textOf)
      .filter(text => text.length > 1 && text.includes('*'))
    const own = [
      /:Baton-q-\*$/,
      /:schedule\/\{TasksFarTimersGroup\w+\}\/\*$/,
      /:secret:Baton\/webhook\/\*$/,
      /^\{TasksTable\w+\}\/stream\/\*$/,
    ]

    for (const text of open)
      expect(
        own.some(pattern => pattern.test(text)),
        text,
      ).toBe(true)
  })

  it.each(statements)('%s may pass a role to EventBridge Scheduler only', (_id, { Action, Condition }) => {
    if (!listOf(Action).includes('iam:PassRole')) return

    expect(Condition).toEqual({ StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } })
  })
})

describe('A role allows exactly what is needed by', () => {
  it.each<[string, string[]]>([
    ['Api', [...allTasks('owner', 'place', 'view'), ...send, depthOfQueues]],
    ['ApiClaims', allTasks('place')],
    ['Jobs', [...allTasks('place', 'view'), ...send, ...consume('TasksMessagesJobsQueue')]],
    [
      'Planner',
      [
        ...allTasks('place'),
        ...['DescribeStream', 'GetRecords', 'GetShardIterator'].map(
          action => `dynamodb:${action} {TasksTable}`,
        ),
        'dynamodb:ListStreams {TasksTable}/stream/*',
        toDeadLetters,
        'events:PutEvents {TasksEventsBus}',
        ...planAhead,
        ...send,
      ],
    ],
    [
      'Waker',
      [
        ...allTasks('place', 'view'),
        ...send,
        ...consume('TasksMessagesWakeQueue'),
        depthOfQueues,
        'events:PutEvents {TasksEventsBus}',
      ],
    ],
    [
      'Sweeper',
      [
        ...allTasks('place', 'view'),
        depthOfQueues,
        'sqs:GetQueueAttributes {TasksMessagesJobsQueue}',
        'sqs:DeleteMessage {TasksMessagesDeadLettersQueue}',
        'sqs:ReceiveMessage {TasksMessagesDeadLettersQueue}',
        ...planAhead,
        ...send,
      ],
    ],
    ['Registrar', [...onTable('GetItem', 'PutItem', 'Query'), toJobs]],
    ['HandlersResize', handler('TasksHandlersResizeTasksQueue')],
    [
      'HandlersWebhook',
      [
        ...handler('TasksHandlersWebhookTasksQueue'),
        'secretsmanager:GetSecretValue secretsmanager/secret:Baton/webhook/*',
      ],
    ],
    ['FarTimers', [toDeadLetters, toWaker]],
    ['SweeperSchedule', ['lambda:InvokeFunction {TasksSweeperFunction}', toDeadLetters]],
  ])('%s', (name, expected) => {
    expect(allowedTo(name)).toEqual([...expected].sort())
  })
})

describe('Every role', () => {
  it.each(named(ofType('AWS::IAM::Role')))(
    '%s may write its logs at most by a policy of its own',
    (_id, { Properties }) => {
      expect(Properties.ManagedPolicyArns).toBeUndefined()
    },
  )

  it.each(named(ofType('AWS::IAM::Role')))(
    "%s is lent to schedules only of this system's group",
    (_id, { Properties }) => {
      const [trust] = Properties.AssumeRolePolicyDocument.Statement
      if (trust.Principal.Service !== 'scheduler.amazonaws.com') return

      const { 'aws:SourceAccount': account, 'aws:SourceArn': arn } = trust.Condition.StringEquals
      expect(targetOf(account)).toBe('AWS::AccountId')
      expect(targetOf(arn)).toMatch(/^TasksFarTimersGroup/)
    },
  )

  it.each(named(ofType('AWS::IAM::Role')))(
    '%s stays below the 10,240 characters of inline policies',
    (id, _role) => {
      const own = policies.filter(({ Properties }) =>
        Properties.Roles.some((role: unknown) => targetOf(role) === id),
      )
      const characters = own.reduce(
        (sum, { Properties }) => sum + JSON.stringify(Properties.PolicyDocument).length,
        0,
      )

      expect(characters).toBeLessThan(10_240)
    },
  )
})

it('The HTTP API asks for signed requests', () => {
  for (const { Properties } of ofType('AWS::ApiGatewayV2::Route'))
    expect(Properties.AuthorizationType).toBe('AWS_IAM')
  for (const { Properties } of synthesise({ apiAuth: 'none' }).ofType('AWS::ApiGatewayV2::Route')) {
    expect(Properties.AuthorizationType).toBe('NONE')
  }
})
