import { RemovalPolicy } from 'aws-cdk-lib'
import { Match } from 'aws-cdk-lib/assertions'
import { expect, it } from 'vitest'
import { passesFilters } from '../../local/mappings/mapping.ts'
import { aSystem, readTemplate, synthesise, targetOf } from './synthesised.ts'

const { template, ofType } = synthesise()
const [table] = ofType('AWS::DynamoDB::GlobalTable')
const planner = ofType('AWS::Lambda::EventSourceMapping').find(({ id }) => id.startsWith('TasksPlanner'))!

it('There is one table, paid per request, with expiry, backups, and a stream of new images', () => {
  template.resourceCountIs('AWS::DynamoDB::GlobalTable', 1)
  template.hasResourceProperties('AWS::DynamoDB::GlobalTable', {
    BillingMode: 'PAY_PER_REQUEST',
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    StreamSpecification: { StreamViewType: 'NEW_IMAGE' },
    Replicas: [
      Match.objectLike({
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        DeletionProtectionEnabled: true,
      }),
    ],
  })
})

it('The three indexes of the table hold keys only, so that a write of other attributes costs nothing there', () => {
  const indexes = table!.Properties.GlobalSecondaryIndexes as Array<{
    IndexName: string
    Projection: unknown
  }>

  expect(indexes.map(({ IndexName }) => IndexName)).toEqual(['view', 'place', 'owner'])
  for (const { Projection } of indexes) expect(Projection).toEqual({ ProjectionType: 'KEYS_ONLY' })
})

it('The table outlives its stack, unless the stack is for development', () => {
  const [temporary] = synthesise({ removalPolicy: RemovalPolicy.DESTROY }).ofType(
    'AWS::DynamoDB::GlobalTable',
  )

  expect(table!.DeletionPolicy).toBe('Retain')
  for (const { DeletionPolicy } of ofType('AWS::Logs::LogGroup')) {
    // A failed first deployment deletes the log groups that it has created.
    expect(DeletionPolicy).toBe('RetainExceptOnCreate')
  }
  expect(temporary!.DeletionPolicy).toBe('Delete')
  expect(temporary!.Properties.Replicas[0].DeletionProtectionEnabled).toBe(false)
})

it('The throughput of the table can be limited', () => {
  const limited = synthesise({ tableLimits: { maxWriteUnitsPerSecond: 500, maxReadUnitsPerSecond: 900 } })

  limited.template.hasResourceProperties('AWS::DynamoDB::GlobalTable', {
    WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 500 },
  })
})

it('A warm table has warm indexes, because each task writes them, too', () => {
  const warmThroughput = { writeUnitsPerSecond: 12_000, readUnitsPerSecond: 15_000 }
  const [warm] = synthesise({ warmThroughput }).ofType('AWS::DynamoDB::GlobalTable')
  const expected = { WriteUnitsPerSecond: 12_000, ReadUnitsPerSecond: 15_000 }

  expect(warm!.Properties.WarmThroughput).toEqual(expected)
  for (const index of warm!.Properties.GlobalSecondaryIndexes) expect(index.WarmThroughput).toEqual(expected)
})

it('The expected tasks of all handlers warm the table, and set the shards of their types', () => {
  const { stack, tasks } = aSystem()
  tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts', expectedTasksPerSecond: 1_000 })
  tasks.addHandlers('Two', { entries: 'test/infra/fixtures/two-tasks.ts', expectedTasksPerSecond: 100 })

  const { ofType } = readTemplate(stack)
  const [warm] = ofType('AWS::DynamoDB::GlobalTable')
  const shards = ofType('Custom::BatonType').map(({ Properties }) => {
    const configuration = JSON.parse(Properties.configuration)
    return [Properties.type, configuration.shards]
  })

  // 1,200 tasks of 3 units, four times over.
  const expected = { WriteUnitsPerSecond: 14_400, ReadUnitsPerSecond: 12_000 }
  expect(warm!.Properties.WarmThroughput).toEqual(expected)
  for (const index of warm!.Properties.GlobalSecondaryIndexes) expect(index.WarmThroughput).toEqual(expected)
  expect(Object.fromEntries(shards)).toMatchObject({
    resize: 8,
    first: 4,
    'images.second': 4,
    webhook: undefined,
  })
})

it('Few expected tasks leave the table as it is', () => {
  const { stack, tasks } = aSystem()
  tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts', expectedTasksPerSecond: 300 })

  const [cold] = readTemplate(stack).ofType('AWS::DynamoDB::GlobalTable')

  expect(cold?.Properties.WarmThroughput).toBeUndefined()
})

it.each([0, 1.5, 8_001])('Expected tasks of %s a second are refused, since 64 shards serve 8,000', number => {
  const { tasks } = aSystem()

  expect(() =>
    tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts', expectedTasksPerSecond: number }),
  ).toThrow('expectedTasksPerSecond must be a whole number of tasks a second')
})

it('The planner takes its parallelization and memory from the app, within the bounds of Lambda', () => {
  const { ofType } = synthesise({ planner: { parallelization: 4, memorySize: 1_024 } })
  const [mapping] = ofType('AWS::Lambda::EventSourceMapping').filter(({ id }) =>
    id.startsWith('TasksPlanner'),
  )
  const [fn] = ofType('AWS::Lambda::Function').filter(({ id }) => id.startsWith('TasksPlanner'))

  expect(mapping?.Properties.ParallelizationFactor).toBe(4)
  expect(fn?.Properties.MemorySize).toBe(1_024)
  expect(() => synthesise({ planner: { parallelization: 11 } })).toThrow('planner.parallelization must be')
})

it('A warm throughput below the default of a new table is refused', () => {
  const warmThroughput = { writeUnitsPerSecond: 3_999, readUnitsPerSecond: 12_000 }

  expect(() => synthesise({ warmThroughput })).toThrow('give whole numbers of at least 12000 and 4000')
})

it('The planner reads the stream from its start, two batches of a shard at a time, and no outage of 12 hours loses a record', () => {
  expect(planner.Properties).toMatchObject({
    StartingPosition: 'TRIM_HORIZON',
    BatchSize: 100,
    ParallelizationFactor: 2,
    MaximumRetryAttempts: -1,
    MaximumRecordAgeInSeconds: 12 * 3_600,
    BisectBatchOnFunctionError: true,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  })
  expect(targetOf(planner.Properties.DestinationConfig.OnFailure.Destination)).toMatch(
    /^TasksMessagesDeadLetters/,
  )
})

it.each([
  ['a published task', 'INSERT', 'a:b', 'head', 'publish', true],
  ['a claim', 'MODIFY', 'a:b', 'head', 'claim', true],
  ['a heartbeat', 'MODIFY', 'a:b', 'head', 'beat', false],
  ['a body next to the head', 'INSERT', 'a:b', 'input#01', undefined, false],
  ['an expired task', 'REMOVE', 'a:b', 'head', undefined, false],
  ['a worker that joined', 'INSERT', 'workers', 'w1', undefined, true],
  ["a worker's sign of life", 'MODIFY', 'workers', 'w1', undefined, false],
  ['a worker that left', 'REMOVE', 'workers', 'w1', undefined, true],
])('The stream filters of the planner select the right records: %s', (_what, eventName, pk, sk, op, seen) => {
  const { Filters } = planner.Properties.FilterCriteria
  const record = {
    eventName,
    dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, NewImage: op && { op: { S: op } } },
  }

  const patterns = Filters.map(({ Pattern }: { Pattern: string }) => JSON.parse(Pattern))
  expect(passesFilters(patterns, record)).toBe(seen)
})
