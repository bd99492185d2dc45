import { readFileSync } from 'node:fs'
import { CfnWaitConditionHandle, Duration, NestedStack, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import { TaskSystem } from '../../infra/index.ts'
import type { HandlerProps } from '../../infra/types/handlers.ts'
import { anApp, aSystem, type Resource, readTemplate, synthesise, targetOf } from './synthesised.ts'

type Environment = { readonly account?: string; readonly region?: string }
const HERE = { account: '111111111111', region: 'eu-central-1' }
const RESIZE = 'test/infra/fixtures/resize.ts'
const { json, ofType } = synthesise()

it('A stack needs no account and no look-up to be synthesised', () => {
  const { app } = aSystem()

  expect(app.synth().manifest.missing ?? []).toEqual([])
})

it('The outputs have plain names', () => {
  expect(Object.keys(json.Outputs).sort()).toEqual([
    'ApiUrl',
    'EventBusName',
    'JobsQueueUrl',
    'SystemName',
    'TableName',
    'WakeQueueUrl',
  ])
})

it('The outputs of a named system begin with its name, so that two systems fit into a stack', () => {
  const { stack } = aSystem()
  new TaskSystem(stack, 'More', { systemName: 'Baton-more' })

  const names = Object.keys(readTemplate(stack).json.Outputs)

  const plain = ['ApiUrl', 'EventBusName', 'JobsQueueUrl', 'SystemName', 'TableName', 'WakeQueueUrl']

  expect(names.sort()).toEqual([...plain, ...plain.map(name => `Batonmore${name}`)].sort())
})

it.each<[string, object, string]>([
  ['of the system', { alarm: 'all' }, "alarm is not a field here; did you mean 'alarmTopic' or 'alarms'?"],
  ['of its API', { api: { acesslog: true } }, "api.acesslog is not a field here; did you mean 'accessLog'?"],
  [
    'of the API’s waiting claims',
    { api: { claims: { maxwaiting: 1 } } },
    "api.claims.maxwaiting is not a field here; did you mean 'maxWaiting'?",
  ],
  [
    'of the API’s throttle',
    { api: { throttle: { requestsPerSecond: 1, bursts: 1 } } },
    "api.throttle.bursts is not a field here; did you mean 'burst'?",
  ],
  ['of its functions', { reservedConcurrency: { apis: 5 } }, 'reservedConcurrency.apis is not a field here'],
  ['of its table', { tableLimits: { maxWriteUnits: 5 } }, 'tableLimits.maxWriteUnits is not a field here'],
])('An option %s that does not exist is refused, with the nearest legal one', (_what, props, message) => {
  expect(() => aSystem(props)).toThrow(`the task system Baton/Tasks: ${message}`)
})

it('Options without a value are not options', () => {
  expect(() => aSystem({ api: undefined, alarm: undefined } as object)).not.toThrow()
})

/** Properties that name a resource for the whole account and region; an API's name need not be unique. */
const namesOf = (resource: Resource) =>
  resource.Type === 'AWS::ApiGatewayV2::Api'
    ? []
    : [
        'QueueName',
        'TableName',
        'FunctionName',
        'RoleName',
        'LogGroupName',
        'AlarmName',
        'PolicyName',
        'Name',
      ]
        .map(property => resource.Properties[property])
        .filter(value => typeof value === 'string')

it('Two stacks in one account share only the names of policies, which belong to their roles', () => {
  const app = anApp()
  const stacks = ['Baton', 'BatonStaging'].map(stackName => {
    const { stack, tasks } = aSystem({}, stackName, app)
    tasks.addHandler('Resize', { entry: RESIZE })
    return stack
  })

  const [one, other] = stacks.map(stack =>
    readTemplate(stack)
      .resources.filter(({ Type }) => Type !== 'AWS::IAM::Policy')
      .flatMap(namesOf),
  )

  expect(one).toEqual(['Baton-events', 'Baton-q-webhook', 'Baton-q-resize'])
  expect(other).toEqual(['BatonStaging-events', 'BatonStaging-q-webhook', 'BatonStaging-q-resize'])
})

it('Thirty types fit into the 500 resources of a stack', () => {
  const perType = ofType('AWS::Lambda::Function').length - 7
  const { resources: bare } = readTemplate(aSystem({ webhook: false }).stack)
  const { resources: all } = synthesise()
  const each = (all.length - bare.length) / perType

  expect(bare.length + 30 * each).toBeLessThan(500)
})

describe('A deployed type', () => {
  it('is registered after its mapping is created, and removed before the mapping is deleted', () => {
    const registrations = ofType('Custom::BatonType')
    const resize = registrations.find(({ Properties }) => Properties.type === 'resize')!

    expect(registrations.map(({ Properties }) => Properties.type).sort()).toEqual([
      'images.second',
      'resize',
      'webhook',
    ])
    expect(JSON.parse(resize.Properties.configuration)).toEqual({
      kind: 'handler',
      defaults: { timeoutMs: 60_000 },
    })
    expect(targetOf(resize.Properties.ServiceToken)).toMatch(/^TasksRegistrarFunction/)
    expect(resize.DependsOn).toContainEqual(expect.stringMatching(/^TasksHandlersResizeTasksMapping/))
  })

  it('has a timeout that leaves time to record the outcome of its task', () => {
    const timeoutOf = (id: string) =>
      ofType('AWS::Lambda::Function').find(fn => fn.id.includes(id))!.Properties.Timeout

    expect(timeoutOf('Resize')).toBe(75)
    expect(timeoutOf('Second')).toBe(300)
  })

  it('is bundled from an entry that joins its definition and the executor', () => {
    expect(readFileSync('.baton/entries/Baton-q-resize.ts', 'utf8').split('\n').slice(1)).toEqual([
      'import { executorOf } from "../../functions/executor.ts"',
      'import { resize as task0 } from "../../test/infra/fixtures/resize.ts"',
      '',
      'export const handler = executorOf(task0)',
      '',
    ])
  })
})

describe('Synthesis refuses', () => {
  it('two handlers of one type', () => {
    const { tasks } = aSystem()
    tasks.addHandler('Resize', { entry: RESIZE })

    expect(() => tasks.addHandler('Again', { entry: RESIZE })).toThrow(
      "'Resize' already serves the type 'resize'",
    )
  })

  it.each<[string, Partial<HandlerProps>, string]>([
    ['an environment variable with a reserved name', { environment: { BATON_TABLE: 'mine' } }, 'BATON_TABLE'],
    ['no message in a batch', { batchSize: 0 }, 'batchSize must be a whole number from 1 to 10, not 0'],
    ['11 messages in a batch', { batchSize: 11 }, 'batchSize must be a whole number from 1 to 10, not 11'],
    ['less reserved concurrency than a mapping takes', { reservedConcurrency: 1 }, 'reservedConcurrency'],
    [
      'less reserved concurrency than its mapping may use',
      { reservedConcurrency: 5, maxConcurrency: 6 },
      'reservedConcurrency',
    ],
    [
      'too little memory',
      { memorySize: 64 },
      "resize.ts, task 'resize': memorySize must be a whole number of megabytes from 128 to 10240, not 64",
    ],
    ['no time for a run', { timeout: Duration.seconds(5) }, 'timeout must be a Duration of 10 s at least'],
    [
      'more time than Lambda gives',
      { timeout: Duration.minutes(20) },
      "and 900 s at most, which is Lambda's maximum, not 1200 s",
    ],
    [
      'less time than a run',
      { timeout: Duration.seconds(30) },
      'timeoutMs must be at most 30000 within the timeout of its function, not 60000',
    ],
    [
      'more invocations than a mapping takes',
      { maxConcurrency: 2_000 },
      'maxConcurrency must be a whole number from 2 to 1000, not 2000',
    ],
    [
      'an illegal version',
      { version: 'latest' },
      "version must be dotted numbers such as 1.4.0, not 'latest'",
    ],
  ])('a function with %s', (_what, props, message) => {
    expect(() => aSystem().tasks.addHandler('Resize', { entry: RESIZE, ...props })).toThrow(message)
  })

  it('a run of 20 minutes on Lambda, and says where such a run can be served', () => {
    expect(() => aSystem().tasks.addHandler('Long', { entry: 'test/infra/fixtures/long-run.ts' })).toThrow(
      "long-run.ts, task 'long': timeoutMs must be at most 885000 on Lambda, not 1200000; serve longer runs with addWorkerService",
    )
    expect(() =>
      aSystem().tasks.addWorkerQueue('Long', { entry: 'test/infra/fixtures/long-run.ts' }),
    ).not.toThrow()
  })

  it('a handler of a type that is claimed over HTTP', () => {
    expect(() => aSystem().tasks.addHandler('Pulled', { entry: 'test/infra/fixtures/pulled.ts' })).toThrow(
      "kind 'http'",
    )
  })

  it.each(['a b', '1st', 'x'.repeat(41), 'a-q-b'])("the system name '%s'", systemName => {
    expect(() => aSystem({ systemName })).toThrow(`'${systemName}' is not a legal system name`)
  })

  it('two systems of one name', () => {
    const { stack } = aSystem()

    expect(() => new TaskSystem(stack, 'More')).toThrow("already named 'Baton'")
  })

  it.each<[string, Environment, Environment]>([
    ['without fixed environments', {}, {}],
    ['of one environment', HERE, HERE],
    ['where one has no fixed environment', HERE, {}],
  ])('systems of one name in two stacks %s', (_what, one, other) => {
    const app = anApp()
    new TaskSystem(new Stack(app, 'One', { env: one }), 'Tasks', { systemName: 'same' })
    const second = new Stack(app, 'Other', { env: other })

    expect(() => new TaskSystem(second, 'Tasks', { systemName: 'same' })).toThrow(
      "One/Tasks is already named 'same'",
    )
  })

  it('nothing when two systems of one name are in different regions', () => {
    const app = anApp()

    for (const region of ['eu-west-1', 'us-east-1']) {
      const stack = new Stack(app, `In-${region}`, { env: { ...HERE, region } })
      new TaskSystem(stack, 'Tasks', { systemName: 'same' })
    }

    expect(app.node.children).toHaveLength(2)
  })

  it('another queue of the app with the name of a system’s queue, in any stack', () => {
    const { app, stack, tasks } = aSystem()
    tasks.addHandler('Resize', { entry: RESIZE })
    new Queue(new Stack(app, 'Mine'), 'Mine', { queueName: 'Baton-q-resize' })

    expect(() => Template.fromStack(stack)).toThrow(/both named 'Baton-q-resize' in one account and region/)
  })

  it('a stack of more than 500 resources, and says how many a handler takes and what helps', () => {
    const { stack } = aSystem()
    for (let nth = 0; nth < 500; nth++) new CfnWaitConditionHandle(stack, `Filler${nth}`)

    expect(() => Template.fromStack(stack)).toThrow(
      /the stack Baton has \d+ resources, and CloudFormation allows 500\. The 1 handlers.* take about \d+ each/,
    )
  })

  it('a system without a name in a stack without a fixed name', () => {
    const nested = new NestedStack(new Stack(anApp(), 'Outer'), 'Inner')

    expect(() => new TaskSystem(nested, 'Tasks')).toThrow("give 'systemName'")
  })
})

describe('A function of the user', () => {
  const aFunction = (stack: Stack) =>
    new LambdaFunction(stack, 'Mine', {
      runtime: Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: Code.fromInline('exports.handler = async () => {}'),
    })

  function policyOfMine(stack: Stack) {
    const { ofType: ofTypeIn } = readTemplate(stack)
    const [fn] = ofTypeIn('AWS::Lambda::Function').filter(({ id }) => id.startsWith('Mine'))
    const [policy] = ofTypeIn('AWS::IAM::Policy').filter(({ id }) => id.startsWith('Mine'))
    return {
      environment: fn!.Properties.Environment.Variables,
      statements: policy!.Properties.PolicyDocument.Statement,
    }
  }

  it('may publish: it can write and read tasks, and knows the addresses', () => {
    const { stack, tasks } = aSystem()

    tasks.grantPublish(aFunction(stack))

    const { environment, statements } = policyOfMine(stack)
    expect(environment.BATON_SYSTEM).toBe('Baton')
    expect(targetOf(environment.BATON_TABLE)).toMatch(/^TasksTable/)
    expect(targetOf(environment.BATON_WAKE_QUEUE_URL)).toMatch(/^TasksMessagesWake/)
    expect(targetOf(environment.BATON_URL)).toMatch(/^TasksApiHttp/)
    const actions = new Set(statements.flatMap(({ Action }: { Action: string }) => Action))
    expect([...actions].sort()).toEqual([
      ...['BatchGetItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map(action => `dynamodb:${action}`),
      'execute-api:Invoke',
    ])
  })
})

it('Concurrency can be reserved for the functions of the system', () => {
  const { ofType: ofTypeIn } = synthesise({ reservedConcurrency: { planner: 20, api: 50 } })
  const reserved = ofTypeIn('AWS::Lambda::Function').flatMap(({ id, Properties }) =>
    Properties.ReservedConcurrentExecutions === undefined
      ? []
      : [[id.slice(5, 8), Properties.ReservedConcurrentExecutions]],
  )

  expect(reserved).toEqual([
    ['Pla', 20],
    ['Api', 50],
  ])
})
