import { describe, expect, it } from 'vitest'
import { queueNameOf } from '../../shared/core/types/task-type.ts'
import { named, type Resource, synthesise, targetOf } from './synthesised.ts'

const { ofType, json } = synthesise()
const DAY_S = 86_400
const queues = ofType('AWS::SQS::Queue')
const mappings = ofType('AWS::Lambda::EventSourceMapping')
const isQueue = (id: string | undefined) => json.Resources[id ?? '']?.Type === 'AWS::SQS::Queue'
const queueMappings = mappings.filter(({ Properties }) => isQueue(targetOf(Properties.EventSourceArn)))
const feeding = (queue: Resource) =>
  queueMappings.find(({ Properties }) => targetOf(Properties.EventSourceArn) === queue.id)
const fed = named(queues.filter(feeding))
const deadLetters = named(queues.filter(queue => !feeding(queue)))

it('Every mapping reports which records of a batch failed', () => {
  expect(mappings).toHaveLength(6)
  for (const { Properties } of mappings) {
    expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures'])
  }
})

describe('Every mapping of a queue', () => {
  it.each(named(queueMappings))('%s has a maximum concurrency', (_id, { Properties }) => {
    expect(Properties.ScalingConfig.MaximumConcurrency).toBeGreaterThanOrEqual(2)
  })

  it.each(named(queueMappings))(
    '%s takes at most ten messages and does not wait for them',
    (_id, { Properties }) => {
      expect(Properties.BatchSize).toBeLessThanOrEqual(10)
      expect(Properties.MaximumBatchingWindowInSeconds).toBeUndefined()
    },
  )
})

describe('Every queue that feeds a function', () => {
  it.each(fed)('%s has a dead-letter queue after at least five receives', (_id, { Properties }) => {
    const { deadLetterTargetArn, maxReceiveCount } = Properties.RedrivePolicy

    expect(deadLetters.map(([id]) => id)).toContain(targetOf(deadLetterTargetArn))
    expect(maxReceiveCount).toBeGreaterThanOrEqual(5)
  })

  it.each(fed)("%s hides messages for six times the function's timeout or longer", (_id, queue) => {
    const { Timeout } = json.Resources[targetOf(feeding(queue)!.Properties.FunctionName)!]!.Properties

    expect(queue.Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * Timeout)
  })

  it.each(fed)('%s keeps messages for the four days that the sweeper relies on', (_id, { Properties }) => {
    expect(Properties.MessageRetentionPeriod).toBe(4 * DAY_S)
  })
})

it('Long jobs have their own queue and at most five concurrent functions', () => {
  const mappingOf = (name: string) =>
    queueMappings.find(({ id }) => id.startsWith(`TasksMessages${name}`))!.Properties
  const [wake, jobs] = [mappingOf('Wake'), mappingOf('Jobs')]

  expect([wake, jobs].map(({ ScalingConfig }) => ScalingConfig.MaximumConcurrency)).toEqual([50, 5])
  expect(targetOf(wake.FunctionName)).toMatch(/^TasksWakerFunction/)
  expect(targetOf(jobs.FunctionName)).toMatch(/^TasksJobsFunction/)
})

describe('The only dead-letter queue', () => {
  it('is in the system itself', () => {
    expect(deadLetters.map(([id]) => id)).toEqual([expect.stringMatching(/^TasksMessagesDeadLettersQueue/)])
  })

  it.each(deadLetters)('%s keeps messages for 14 days', (_id, { Properties }) => {
    expect(Properties.MessageRetentionPeriod).toBe(14 * DAY_S)
  })

  it.each(deadLetters)('%s takes what queues, the stream and the schedules give up', (id, _queue) => {
    for (const sources of [queues, mappings, ofType('AWS::Scheduler::Schedule')])
      expect(JSON.stringify(sources.map(({ Properties }) => Properties))).toContain(`"${id}"`)
  })

  it.each(deadLetters)('%s is emptied by the sweeper only', (id, _queue) => {
    const readers = ofType('AWS::IAM::Policy').filter(({ Properties }) =>
      Properties.PolicyDocument.Statement.some(
        ({ Action, Resource }: { Action: unknown; Resource: unknown }) =>
          JSON.stringify(Action).includes('sqs:ReceiveMessage') &&
          JSON.stringify(Resource).includes(`"${id}"`),
      ),
    )

    expect(readers.map(reader => reader.id)).toEqual([expect.stringMatching(/^TasksSweeperRole/)])
  })
})

describe('Every queue', () => {
  it.each(named(queues))('%s is encrypted and refuses plain HTTP', (id, { Properties }) => {
    const policies = ofType('AWS::SQS::QueuePolicy').filter(policy =>
      policy.Properties.Queues.some((queue: unknown) => targetOf(queue) === id),
    )

    expect(Properties.SqsManagedSseEnabled).toBe(true)
    expect(policies[0]!.Properties.PolicyDocument.Statement).toContainEqual(
      expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
    )
  })

  it.each(named(queues))('%s takes messages of 1 MiB, as large as dispatches of flows get', (_id, queue) => {
    expect(queue.Properties.MaximumMessageSize).toBe(1_048_576)
  })

  it('has a name only if functions derive it from the type', () => {
    const names = queues.flatMap(({ Properties }) => Properties.QueueName ?? [])

    expect(names.sort()).toEqual(
      ['resize', 'images.second', 'webhook'].map(type => queueNameOf('Baton', type)).sort(),
    )
  })
})

it('A handler chooses the size of its batches and its maximum concurrency', () => {
  const second = queueMappings.find(({ id }) => id.includes('Second'))!

  expect(second.Properties.BatchSize).toBe(1)
  expect(second.Properties.ScalingConfig.MaximumConcurrency).toBe(5)
})
