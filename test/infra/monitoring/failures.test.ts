import type { Stack } from 'aws-cdk-lib'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { describe, expect, it } from 'vitest'
import { aSystem, readTemplate, synthesise } from '../synthesised.ts'

const RESIZE = { entry: 'test/infra/fixtures/resize.ts' }

function aWatchedSystem(props: Parameters<typeof aSystem>[0] = {}) {
  const { stack, tasks } = aSystem(props)
  const topic = new Topic(stack, 'Pager')
  return { stack, tasks, topic }
}

/** The metrics of single types that a function keeps. */
function keptIn(stack: Stack): string[] {
  const functions = readTemplate(stack).ofType('AWS::Lambda::Function')
  return [...new Set(functions.map(({ Properties }) => Properties.Environment?.Variables.BATON_TYPE_METRICS))]
}

describe('alarmOnFailures', () => {
  it('adds an alarm on failed tasks of all types within the given minutes, which notifies the topic', () => {
    const { stack, tasks, topic } = aWatchedSystem({ alarms: 'none' })

    tasks.alarmOnFailures({ failures: 5, perMinutes: 15, topic })

    const alarms = readTemplate(stack).ofType('AWS::CloudWatch::Alarm')
    expect(alarms.map(({ Properties }) => Properties)).toEqual([
      expect.objectContaining({
        Namespace: 'Baton',
        MetricName: 'Failed',
        Dimensions: [
          { Name: 'service', Value: 'Baton' },
          { Name: 'type', Value: '*' },
        ],
        Statistic: 'Sum',
        Period: 900,
        Threshold: 5,
        EvaluationPeriods: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        TreatMissingData: 'notBreaching',
        AlarmActions: [{ Ref: expect.stringContaining('Pager') }],
      }),
    ])
    expect(keptIn(stack)).toEqual([undefined])
  })

  it('for one type counts only the failures of that type', () => {
    const { stack, tasks, topic } = aWatchedSystem()

    tasks.alarmOnFailures({ type: 'resize', failures: 1, perMinutes: 5, topic })

    const alarms = readTemplate(stack).ofType('AWS::CloudWatch::Alarm')
    const ofType = alarms.filter(({ Properties }) => Properties.MetricName === 'Failed')
    expect(ofType.map(({ Properties }) => Properties.Dimensions)).toEqual([
      [
        { Name: 'service', Value: 'Baton' },
        { Name: 'type', Value: 'resize' },
      ],
    ])
    expect(keptIn(stack)).toEqual(['Failed:resize'])
  })

  it.each([
    [{ failures: 0, perMinutes: 5 }, 'failures is 0'],
    [{ failures: 1.5, perMinutes: 5 }, 'failures is 1.5'],
    [{ failures: 1, perMinutes: 1_441 }, 'perMinutes is 1441; give a whole number of 1–1,440'],
    [
      { failures: 1, perMinutes: 5, type: 'no type' },
      'alarmOnFailures: type must be 1–100 of A–Z a–z 0–9 . _ -',
    ],
  ])('refuses %j', (given, message) => {
    const { tasks, topic } = aWatchedSystem()

    expect(() => tasks.alarmOnFailures({ ...given, topic })).toThrow(message)
  })
})

it('metrics: perType keeps the four metrics of outcomes for every type', () => {
  const { stack } = aSystem({ metrics: 'perType' })

  expect(keptIn(stack)).toEqual(['Failed:*,Published:*,Retried:*,Succeeded:*'])
})

describe('addDashboard', () => {
  const { stack, tasks } = aSystem()
  tasks.addDashboard()
  tasks.addHandler('Later', RESIZE)
  const { ofType } = readTemplate(stack)
  const [dashboard] = ofType('AWS::CloudWatch::Dashboard')
  const body = JSON.stringify(dashboard?.Properties.DashboardBody)

  it('shows tasks, queues, functions, table and API', () => {
    const metrics = [
      ...['Published', 'Succeeded', 'Failed', 'Retried', 'Lateness', 'RunTime'],
      ...['Stuck', 'LeaseLost', 'NeedsAttention', 'SweeperRepaired'],
      ...['ApproximateNumberOfMessagesVisible', 'ApproximateAgeOfOldestMessage'],
      ...['Errors', 'Duration', 'Throttles', 'ReadThrottleEvents', 'WriteThrottleEvents', '5xx', '4xx'],
    ]

    expect(metrics.filter(name => !body.includes(`\\"${name}\\"`))).toEqual([])
  })

  it('shows all queues, dead-letter queues and functions, even of handlers that are added later', () => {
    const missing = [...ofType('AWS::SQS::Queue'), ...ofType('AWS::Lambda::Function')].filter(
      ({ id, Properties }) => !body.includes(`"${id}"`) && !body.includes(`\\"${Properties.QueueName}\\"`),
    )

    expect(missing.map(({ id }) => id)).toEqual([])
    expect(body).toContain('Handlers/Later')
  })

  it('must be called to create a dashboard', () => {
    expect(readTemplate(aSystem().stack).ofType('AWS::CloudWatch::Dashboard')).toEqual([])
  })
})

describe('the least level of log lines', () => {
  const levelsOf = (props: Parameters<typeof synthesise>[0], level?: 'DEBUG' | 'ERROR') => {
    const { stack, tasks } = aSystem(props)
    tasks.addHandler('Resize', { ...RESIZE, ...(level && { logLevel: level }) })
    const functions = readTemplate(stack).ofType('AWS::Lambda::Function')
    const levels = (isHandler: boolean) => [
      ...new Set(
        functions
          .filter(
            ({ id }) =>
              id.startsWith('TasksHandlersResize') === isHandler && !id.startsWith('TasksHandlersWebhook'),
          )
          .map(({ Properties: { Environment, LoggingConfig } }) =>
            [
              Environment.Variables.POWERTOOLS_LOG_LEVEL,
              LoggingConfig.ApplicationLogLevel,
              LoggingConfig.SystemLogLevel,
            ].join(' '),
          ),
      ),
    ]
    return { handler: levels(true), own: levels(false) }
  }

  it.each([
    ['is INFO for handlers, WARN for the system', {}, undefined, 'INFO INFO WARN', 'WARN INFO WARN'],
    [
      'is the same for all functions if the system sets it',
      { logLevel: 'ERROR' },
      undefined,
      'ERROR INFO WARN',
      'ERROR INFO WARN',
    ],
    [
      'is the level of the handler if the handler sets one',
      { logLevel: 'WARN' },
      'DEBUG',
      'DEBUG DEBUG INFO',
      'WARN INFO WARN',
    ],
  ] as const)('%s', (_name, props, level, handler, own) => {
    expect(levelsOf(props, level)).toEqual({ handler: [handler], own: [own] })
  })

  it('is INFO for the shipped webhook handler', () => {
    const webhook = synthesise()
      .ofType('AWS::Lambda::Function')
      .find(({ id }) => id.startsWith('TasksHandlersWebhook'))

    expect(webhook?.Properties.Environment.Variables.POWERTOOLS_LOG_LEVEL).toBe('INFO')
  })

  it.each([
    [{}, undefined, 'INFO'],
    [{ logLevel: 'WARN' }, undefined, 'WARN'],
    [{}, 'DEBUG', 'DEBUG'],
  ] as const)(
    'of a worker service with %j for the system and %j for the service is %s',
    (props, level, expected) => {
      const { stack, tasks } = aSystem(props)
      const entry = 'test/infra/fixtures/two-tasks.ts'
      tasks.addWorkerService('Media', { entry, ...(level && { logLevel: level }) })

      const [definition] = readTemplate(stack).ofType('AWS::ECS::TaskDefinition')
      expect(definition?.Properties.ContainerDefinitions[0].Environment).toContainEqual({
        Name: 'POWERTOOLS_LOG_LEVEL',
        Value: expected,
      })
    },
  )

  it('is refused if it does not exist', () => {
    expect(() => aSystem({ logLevel: 'LOUD' as never })).toThrow("logLevel is 'LOUD'; give 'DEBUG'")
  })
})
