import { Stack } from 'aws-cdk-lib'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { describe, expect, it } from 'vitest'
import { TaskSystem } from '../../../infra/index.ts'
import { anApp, named, readTemplate, synthesise, targetOf } from '../synthesised.ts'

const { tasks, ofType } = synthesise({ alarms: 'all' })
const alarms = ofType('AWS::CloudWatch::Alarm')

type Dimension = { Name: string; Value: unknown }

/** The alarm on a metric of one resource. */
function alarmOn(metric: string, logicalId: string) {
  return alarms.find(
    ({ Properties }) =>
      Properties.MetricName === metric &&
      (Properties.Dimensions as Dimension[]).some(({ Value }) => targetOf(Value) === logicalId),
  )?.Properties
}

describe('An alarm is raised', () => {
  it.each(named(ofType('AWS::Lambda::Function')))('when %s crashes or is throttled', (id, _function) => {
    expect(alarmOn('Errors', id)).toMatchObject({ Threshold: 0, ComparisonOperator: 'GreaterThanThreshold' })
    expect(alarmOn('Throttles', id)).toMatchObject({ Threshold: 0, TreatMissingData: 'notBreaching' })
  })

  const fed = new Set(
    ofType('AWS::Lambda::EventSourceMapping').map(({ Properties }) => targetOf(Properties.EventSourceArn)),
  )
  it.each(named(ofType('AWS::SQS::Queue').filter(({ id }) => !fed.has(id))))(
    'when a message arrives in %s, although the sweeper takes it out within a minute',
    (id, _queue) => {
      expect(alarmOn('NumberOfMessagesReceived', id)).toMatchObject({
        Threshold: 0,
        Statistic: 'Sum',
      })
    },
  )

  it('when the planner reads more than a minute late', () => {
    const planner = ofType('AWS::Lambda::Function').find(({ id }) => id.startsWith('TasksPlanner'))!

    expect(alarmOn('IteratorAge', planner.id)).toMatchObject({ Threshold: 60_000, Statistic: 'Maximum' })
  })

  it('when the sweeper is not invoked, and not at creation, when the metric has no data yet', () => {
    const sweeper = ofType('AWS::Lambda::Function').find(({ id }) => id.startsWith('TasksSweeper'))!

    expect(alarmOn('Invocations', sweeper.id)).toMatchObject({
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'missing',
    })
  })

  it.each([
    ['a flow of any type cannot undo a step', 'NeedsAttention', 'Sum'],
    ['a look at a task of any type goes in circles', 'LookLoop', 'Sum'],
    ['tasks of any type are stuck', 'Stuck', 'Maximum'],
  ])('when %s', (_name, metric, Statistic) => {
    const alarm = alarms.find(({ Properties }) => Properties.MetricName === metric)?.Properties

    expect(alarm).toMatchObject({ Namespace: 'Baton', Threshold: 0, Statistic })
    expect(alarm?.Dimensions).toContainEqual({ Name: 'type', Value: '*' })
  })

  it('when the API fails', () => {
    const [api] = ofType('AWS::ApiGatewayV2::Api')

    expect(alarmOn('5xx', api!.id)).toMatchObject({ Threshold: 0, Statistic: 'Sum' })
  })

  it.each([undefined, 'view', 'place', 'owner'])('when the table is throttled (index: %s)', index => {
    const watched = alarms.flatMap(({ Properties }) => (Properties.Metrics ? [Properties.Metrics] : []))
    const dimensions = watched.map(metrics => metrics[1].MetricStat.Metric.Dimensions as Dimension[])

    expect(
      dimensions.filter(
        list => list.find(({ Name }) => Name === 'GlobalSecondaryIndexName')?.Value === index,
      ),
    ).toHaveLength(1)
  })
})

it('The essential alarms show what an operator must see, and what shows nowhere else', () => {
  const { ofType: of } = synthesise()
  const names = of('AWS::CloudWatch::Alarm').map(({ id }) => id.replace(/[0-9A-F]{8}$/, ''))

  expect(names.sort()).toEqual([
    'TasksApiServerErrorAlarm',
    'TasksMessagesDeadLettersDeadLetterAlarm',
    'TasksPlannerIteratorAgeAlarm',
    'TasksPlannerNeedsAttentionAlarm',
    'TasksSweeperErrorAlarm',
    'TasksSweeperNotInvokedAlarm',
    'TasksSweeperStuckAlarm',
    'TasksTableUpdateThrottleAlarm',
  ])
})

it('An app can switch all alarms off', () => {
  expect(synthesise({ alarms: 'none' }).ofType('AWS::CloudWatch::Alarm')).toEqual([])
})

it('A level of alarms that does not exist is refused by name', () => {
  expect(() => synthesise({ alarms: 'some' as never })).toThrow(
    "alarms is 'some'; give 'all', 'essential', 'none'",
  )
})

it('Every alarm reaches the topic, if there is one', () => {
  const stack = new Stack(anApp(), 'Baton')
  const topic = new Topic(stack, 'Topic')

  new TaskSystem(stack, 'Tasks', { alarmTopic: topic })

  for (const { Properties } of readTemplate(stack).ofType('AWS::CloudWatch::Alarm')) {
    const own = [stack.getLogicalId(topic.node.defaultChild as never)]
    expect(Properties.AlarmActions.map(targetOf)).toEqual(own)
    // An alarm that needs data is also notified when its metric ends.
    const needsData = Properties.TreatMissingData === 'missing'
    expect(Properties.InsufficientDataActions?.map(targetOf)).toEqual(needsData ? own : undefined)
  }
})

it('Every alarm says what it means', () => {
  for (const { Properties } of alarms) expect(Properties.AlarmDescription.length).toBeGreaterThan(20)
})

it('The app can read the metrics of one type', () => {
  const metric = tasks.metricLateness('resize').toMetricConfig().metricStat

  expect(metric).toMatchObject({ namespace: 'Baton', metricName: 'Lateness' })
  expect(metric!.dimensions).toEqual([
    { name: 'service', value: 'Baton' },
    { name: 'type', value: 'resize' },
  ])
})
