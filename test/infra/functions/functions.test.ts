import { describe, expect, it } from 'vitest'
import type { TaskSystemProps } from '../../../infra/index.ts'
import { aSystem, named, readTemplate, synthesise, targetOf } from '../synthesised.ts'

const { ofType, json } = synthesise()
const functions = named(ofType('AWS::Lambda::Function'))
const traced = synthesise({ tracing: 'sampled' }).ofType('AWS::Lambda::Function')

describe('Every function', () => {
  it('belongs to the system or is a handler', () => {
    expect(functions.map(([id]) => id.replace(/Function[0-9A-F]{8}$/, '')).sort()).toEqual([
      'TasksApi',
      'TasksApiClaims',
      'TasksHandlersResize',
      'TasksHandlersSecond',
      'TasksHandlersWebhook',
      'TasksJobs',
      'TasksPlanner',
      'TasksRegistrar',
      'TasksSweeper',
      'TasksWaker',
    ])
  })

  it.each(functions)('%s runs on a pinned Node on arm64', (_id, { Properties }) => {
    expect(Properties.Runtime).toBe('nodejs24.x')
    expect(Properties.Architectures).toEqual(['arm64'])
  })

  it.each(functions)('%s states its memory and its timeout', (id, { Properties }) => {
    expect(Properties.MemorySize).toBe(id.startsWith('TasksApiClaims') ? 256 : 512)
    expect(Properties.Timeout).toBeGreaterThanOrEqual(29)
    expect(Properties.Timeout).toBeLessThanOrEqual(900)
  })

  it.each(functions)('%s logs JSON to its own group, which expires', (_id, { Properties }) => {
    const { LogFormat, LogGroup } = Properties.LoggingConfig
    const group = json.Resources[targetOf(LogGroup)!]!

    expect(LogFormat).toBe('JSON')
    expect(group.Type).toBe('AWS::Logs::LogGroup')
    expect(group.Properties.RetentionInDays).toBe(30)
    expect(
      functions.filter(
        ([, other]) => targetOf(other.Properties.LoggingConfig.LogGroup) === targetOf(LogGroup),
      ),
    ).toHaveLength(1)
  })

  it.each(functions)('%s keeps lines without a level, such as metrics', (_id, { Properties }) => {
    expect(Properties.LoggingConfig.ApplicationLogLevel).toBe('INFO')
  })

  it.each(functions)('%s has a description', (_id, { Properties }) => {
    expect(Properties.Description).toMatch(/^Baton: /)
  })

  it.each(functions)('%s is not traced unless the app asks for it', (id, { Properties }) => {
    expect(Properties.TracingConfig).toBeUndefined()
    expect(traced.find(other => other.id === id)?.Properties.TracingConfig).toEqual({ Mode: 'Active' })
  })

  it.each(functions)('%s keeps metrics of single types only where the app asks for them', (_id, fn) => {
    expect(fn.Properties.Environment.Variables.BATON_TYPE_METRICS).toBeUndefined()
  })

  it.each(functions)(
    '%s is stopped in a loop, unless it is the waker, which re-arms looks, or sends long jobs on',
    (id, { Properties }) => {
      expect(Properties.RecursiveLoop).toBe(/^Tasks(Waker|Jobs)/.test(id) ? 'Allow' : 'Terminate')
    },
  )

  it.each(functions)('%s has variables for its system, its table and the queues', (id, { Properties }) => {
    const { Variables } = Properties.Environment

    expect(Variables).toMatchObject({
      BATON_SYSTEM: 'Baton',
      POWERTOOLS_SERVICE_NAME: 'Baton',
      POWERTOOLS_METRICS_NAMESPACE: 'Baton',
      POWERTOOLS_LOG_LEVEL: /^TasksHandlers/.test(id) ? 'INFO' : 'WARN',
      NODE_OPTIONS: '--enable-source-maps',
    })
    expect(json.Resources[targetOf(Variables.BATON_TABLE)!]!.Type).toBe('AWS::DynamoDB::GlobalTable')
    expect(targetOf(Variables.BATON_WAKE_QUEUE_URL)).toMatch(/^TasksMessagesWakeQueue/)
  })

  it.each(functions)('%s has an environment far below 4 KB', (_id, { Properties }) => {
    // References resolve to ARNs and URLs of at most some 200 bytes; as JSON in the template they are about as long.
    expect(JSON.stringify(Properties.Environment).length).toBeLessThan(2_048)
  })

  it.each(functions)('%s has a role of its own', (_id, { Properties }) => {
    const role = targetOf(Properties.Role)

    expect(functions.filter(([, other]) => targetOf(other.Properties.Role) === role)).toHaveLength(1)
    expect(json.Resources[role!]!.Properties.ManagedPolicyArns).toBeUndefined()
  })
})

it('Functions that create schedules have variables for the group, its role, and the queues', () => {
  const knowing = functions.filter(
    ([, { Properties }]) => Properties.Environment.Variables.BATON_SCHEDULE_GROUP,
  )

  expect(knowing.map(([id]) => id.slice(0, 'TasksPlanner'.length))).toEqual(['TasksPlanner', 'TasksSweeper'])
  for (const [, { Properties }] of knowing) {
    const { Variables } = Properties.Environment
    expect(targetOf(Variables.BATON_SCHEDULE_ROLE_ARN)).toMatch(/^TasksFarTimersRole/)
    expect(targetOf(Variables.BATON_WAKE_QUEUE_ARN)).toBe(targetOf(Variables.BATON_WAKE_QUEUE_URL))
    expect(targetOf(Variables.BATON_SCHEDULE_DLQ_ARN)).toMatch(/^TasksMessagesDeadLetters/)
  }
})

it('The sweeper is invoked every minute, retried only within that minute, and never retried by Lambda', () => {
  const [schedule, ...others] = ofType('AWS::Scheduler::Schedule')
  const [asynchronous] = ofType('AWS::Lambda::EventInvokeConfig')

  expect(others).toEqual([])
  expect(schedule!.Properties).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: { RetryPolicy: { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 60 } },
  })
  expect(targetOf(schedule!.Properties.Target.Arn)).toMatch(/^TasksSweeperFunction/)
  expect(targetOf(schedule!.Properties.Target.DeadLetterConfig.Arn)).toMatch(/^TasksMessagesDeadLetters/)
  expect(targetOf(asynchronous!.Properties.FunctionName)).toMatch(/^TasksSweeperFunction/)
  expect(asynchronous!.Properties.MaximumRetryAttempts).toBe(0)
})

it('Every function keeps a metric of one type that the app asks for, even after the function is created', () => {
  const { stack, tasks } = aSystem()
  tasks.metricLateness('resize')
  tasks.metric('Stuck', '*')
  tasks.metric('RunTime', 'resize')

  const kept = readTemplate(stack)
    .ofType('AWS::Lambda::Function')
    .map(({ Properties }) => Properties.Environment.Variables.BATON_TYPE_METRICS)

  expect(new Set(kept)).toEqual(new Set(['Lateness:resize,RunTime:resize']))
})

it('Metrics of more types than fit into an environment are kept for every type; other metrics are not', () => {
  const { stack, tasks } = aSystem({ webhook: false })
  for (let nth = 0; nth < 30; nth++) tasks.metricLateness(`${'long'.repeat(20)}-${nth}`)
  tasks.metric('RunTime', 'resize')

  const [fn] = readTemplate(stack).ofType('AWS::Lambda::Function')

  expect(fn!.Properties.Environment.Variables.BATON_TYPE_METRICS).toBe('Lateness:*,RunTime:*')
})

it('The claims function serves one route, and the API function serves all others', () => {
  const routes = ofType('AWS::ApiGatewayV2::Route')
  const functionOf = (key: string) => {
    const { Target } = routes.find(({ Properties }) => Properties.RouteKey === key)!.Properties
    const integration = targetOf(Target['Fn::Join'][1].at(-1))
    return targetOf(json.Resources[integration!]!.Properties.IntegrationUri)
  }

  expect(routes.map(({ Properties }) => Properties.RouteKey).sort()).toEqual(['$default', 'POST /v1/claims'])
  expect(functionOf('POST /v1/claims')).toMatch(/^TasksApiClaimsFunction/)
  expect(functionOf('$default')).toMatch(/^TasksApiFunction/)
})

describe('Reserved concurrency', () => {
  const reservedIn = (props: TaskSystemProps) =>
    Object.fromEntries(
      synthesise(props)
        .ofType('AWS::Lambda::Function')
        .flatMap(({ id, Properties }) => {
          const reserved = Properties.ReservedConcurrentExecutions
          return reserved === undefined ? [] : [[id.replace(/Function[0-9A-F]{8}$/, ''), reserved]]
        }),
    )

  it('is absent by default, because a new account has 10 executions and could not deploy it', () => {
    expect(reservedIn({})).toEqual({})
  })

  it('is given to each function of the system', () => {
    const reservedConcurrency = { api: 20, claims: 30, planner: 10, waker: 8, jobs: 3, sweeper: 1 }

    expect(reservedIn({ reservedConcurrency })).toEqual({
      TasksApi: 20,
      TasksApiClaims: 30,
      TasksPlanner: 10,
      TasksWaker: 8,
      TasksJobs: 3,
      TasksSweeper: 1,
    })
  })

  it('limits the claims that wait, and the concurrent batches of the queues', () => {
    const { ofType: of } = synthesise({ reservedConcurrency: { claims: 30, waker: 8, jobs: 3 } })
    const claims = of('AWS::Lambda::Function').find(({ id }) => id.startsWith('TasksApiClaims'))!
    const most = (name: string) =>
      of('AWS::Lambda::EventSourceMapping').find(({ id }) => id.startsWith(`TasksMessages${name}`))!
        .Properties.ScalingConfig.MaximumConcurrency

    expect(claims.Properties.Environment.Variables.BATON_CLAIM_MAX_WAITING).toBe('24')
    expect([most('Wake'), most('Jobs')]).toEqual([8, 3])
  })

  it.each([
    [{ reservedConcurrency: { jobs: 1 } }, 'reservedConcurrency.jobs is 1; give a whole number of 2 or more'],
    [{ reservedConcurrency: { waker: 2.5 } }, 'reservedConcurrency.waker is 2.5'],
    [
      { api: { claims: { retryAfterMs: 100 } } },
      'claims.retryAfterMs is 100; give a whole number from 500 to 20000',
    ],
    [{ api: { claims: { maxWaiting: 0 } } }, 'claims.maxWaiting is 0; give a whole number of 1 or more'],
    [
      { reservedConcurrency: { claims: 5 }, api: { claims: { maxWaiting: 6 } } },
      'claims.maxWaiting is 6; give a whole number from 1 to 5',
    ],
  ] as Array<[TaskSystemProps, string]>)('that makes no sense is refused: %j', (props, message) => {
    expect(() => aSystem(props)).toThrow(message)
  })
})
