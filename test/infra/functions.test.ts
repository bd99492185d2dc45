import { describe, expect, test } from 'vitest'
import { named, synthesise, targetOf } from './synthesised.ts'

const { ofType, json } = synthesise()
const functions = named(ofType('AWS::Lambda::Function'))

describe('Every function', () => {
  test('is one of the system or a handler; nothing else slipped in', () => {
    expect(functions.map(([id]) => id.replace(/Function[0-9A-F]{8}$/, '')).sort()).toEqual([
      'TasksApi',
      'TasksHandlersResize',
      'TasksHandlersSecond',
      'TasksHandlersWebhook',
      'TasksPlanner',
      'TasksRegistrar',
      'TasksSweeper',
      'TasksWaker',
    ])
  })

  test.each(functions)('%s runs on a pinned Node on arm64', (_id, { Properties }) => {
    expect(Properties.Runtime).toBe('nodejs24.x')
    expect(Properties.Architectures).toEqual(['arm64'])
  })

  test.each(functions)('%s states its memory and its timeout', (_id, { Properties }) => {
    expect(Properties.MemorySize).toBe(512)
    expect(Properties.Timeout).toBeGreaterThanOrEqual(29)
    expect(Properties.Timeout).toBeLessThanOrEqual(900)
  })

  test.each(functions)('%s logs JSON to a group of its own that forgets', (_id, { Properties }) => {
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

  test.each(functions)('%s keeps lines without a level, which metrics are', (_id, { Properties }) => {
    expect(Properties.LoggingConfig.ApplicationLogLevel).toBe('INFO')
  })

  test.each(functions)('%s is traced', (_id, { Properties }) => {
    expect(Properties.TracingConfig).toEqual({ Mode: 'Active' })
  })

  test.each(functions)(
    '%s is stopped in a loop, unless it is the waker, which re-arms looks',
    (id, { Properties }) => {
      expect(Properties.RecursiveLoop).toBe(id.startsWith('TasksWaker') ? 'Allow' : 'Terminate')
    },
  )

  test.each(functions)('%s knows its system, its table and the way to the queues', (_id, { Properties }) => {
    const { Variables } = Properties.Environment

    expect(Variables).toMatchObject({
      BATON_SYSTEM: 'Baton',
      POWERTOOLS_SERVICE_NAME: 'Baton',
      POWERTOOLS_METRICS_NAMESPACE: 'Baton',
      POWERTOOLS_LOG_LEVEL: 'WARN',
      NODE_OPTIONS: '--enable-source-maps',
    })
    expect(json.Resources[targetOf(Variables.BATON_TABLE)!]!.Type).toBe('AWS::DynamoDB::GlobalTable')
    expect(targetOf(Variables.BATON_WAKE_QUEUE_URL)).toMatch(/^TasksMessagesWakeQueue/)
  })

  test.each(functions)('%s has an environment far below 4 KB', (_id, { Properties }) => {
    // References resolve to ARNs and URLs of at most some 200 bytes; as JSON in the template they are about as long.
    expect(JSON.stringify(Properties.Environment).length).toBeLessThan(2_048)
  })

  test.each(functions)('%s has a role of its own', (_id, { Properties }) => {
    const role = targetOf(Properties.Role)

    expect(functions.filter(([, other]) => targetOf(other.Properties.Role) === role)).toHaveLength(1)
    expect(json.Resources[role!]!.Properties.ManagedPolicyArns).toBeUndefined()
  })
})

test('Those that plan ahead know the schedule group, its role, and the queues by ARN', () => {
  const knowing = functions.filter(
    ([, { Properties }]) => Properties.Environment.Variables.BATON_SCHEDULE_GROUP,
  )

  expect(knowing.map(([id]) => id.slice(0, 'TasksPlanner'.length))).toEqual(['TasksPlanner', 'TasksSweeper'])
  for (const [, { Properties }] of knowing) {
    const { Variables } = Properties.Environment
    expect(targetOf(Variables.BATON_SCHEDULE_ROLE_ARN)).toMatch(/^TasksFarTimersRole/)
    expect(targetOf(Variables.BATON_WAKE_QUEUE_ARN)).toBe(targetOf(Variables.BATON_WAKE_QUEUE_URL))
    expect(targetOf(Variables.BATON_SCHEDULE_DLQ_ARN)).toMatch(/^TasksFarTimersUndelivered/)
  }
})

test('The sweeper is called every minute, is tried again only within that minute, and never by itself', () => {
  const [schedule, ...others] = ofType('AWS::Scheduler::Schedule')
  const [asynchronous] = ofType('AWS::Lambda::EventInvokeConfig')

  expect(others).toEqual([])
  expect(schedule!.Properties).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: { RetryPolicy: { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 60 } },
  })
  expect(targetOf(schedule!.Properties.Target.Arn)).toMatch(/^TasksSweeperFunction/)
  expect(targetOf(schedule!.Properties.Target.DeadLetterConfig.Arn)).toMatch(/^TasksFarTimersUndelivered/)
  expect(targetOf(asynchronous!.Properties.FunctionName)).toMatch(/^TasksSweeperFunction/)
  expect(asynchronous!.Properties.MaximumRetryAttempts).toBe(0)
})
