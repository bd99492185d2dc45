import { RemovalPolicy } from 'aws-cdk-lib'
import { Match } from 'aws-cdk-lib/assertions'
import { expect, test } from 'vitest'
import { passesFilters } from '../../local/mappings/event-pattern.ts'
import { synthesise, targetOf } from './synthesised.ts'

const { template, ofType } = synthesise()
const [table] = ofType('AWS::DynamoDB::GlobalTable')
const planner = ofType('AWS::Lambda::EventSourceMapping').find(({ id }) => id.startsWith('TasksPlanner'))!

test('There is one table, paid per request, with expiry, backups, and a stream of new images', () => {
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

test('The three indexes of the table hold keys only, so that a write of other attributes costs nothing there', () => {
  const indexes = table!.Properties.GlobalSecondaryIndexes as Array<{
    IndexName: string
    Projection: unknown
  }>

  expect(indexes.map(({ IndexName }) => IndexName)).toEqual(['view', 'place', 'owner'])
  for (const { Projection } of indexes) expect(Projection).toEqual({ ProjectionType: 'KEYS_ONLY' })
})

test('The table outlives its stack, unless the stack is for development', () => {
  const [temporary] = synthesise({ removalPolicy: RemovalPolicy.DESTROY }).ofType(
    'AWS::DynamoDB::GlobalTable',
  )

  expect(table!.DeletionPolicy).toBe('Retain')
  expect(temporary!.DeletionPolicy).toBe('Delete')
  expect(temporary!.Properties.Replicas[0].DeletionProtectionEnabled).toBe(false)
})

test('The throughput of the table can be limited', () => {
  const limited = synthesise({ tableLimits: { maxWriteUnitsPerSecond: 500, maxReadUnitsPerSecond: 900 } })

  limited.template.hasResourceProperties('AWS::DynamoDB::GlobalTable', {
    WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 500 },
  })
})

test('A warm table has warm indexes, because each task writes them, too', () => {
  const warmThroughput = { writeUnitsPerSecond: 12_000, readUnitsPerSecond: 15_000 }
  const [warm] = synthesise({ warmThroughput }).ofType('AWS::DynamoDB::GlobalTable')
  const expected = { WriteUnitsPerSecond: 12_000, ReadUnitsPerSecond: 15_000 }

  expect(warm!.Properties.WarmThroughput).toEqual(expected)
  for (const index of warm!.Properties.GlobalSecondaryIndexes) expect(index.WarmThroughput).toEqual(expected)
})

test('A warm throughput below that of a new table is refused', () => {
  const warmThroughput = { writeUnitsPerSecond: 3_999, readUnitsPerSecond: 12_000 }

  expect(() => synthesise({ warmThroughput })).toThrow('give whole numbers of at least 12000 and 4000')
})

test('The planner reads the stream from its start, and a bad record cannot block it for long', () => {
  expect(planner.Properties).toMatchObject({
    StartingPosition: 'TRIM_HORIZON',
    BatchSize: 100,
    BisectBatchOnFunctionError: true,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  })
  expect(planner.Properties.MaximumRetryAttempts).toBeGreaterThan(0)
  expect(planner.Properties.MaximumRetryAttempts).toBeLessThan(100)
  expect(planner.Properties.MaximumRecordAgeInSeconds).toBeGreaterThan(0)
  expect(planner.Properties.MaximumRecordAgeInSeconds).toBeLessThan(86_400)
  expect(targetOf(planner.Properties.DestinationConfig.OnFailure.Destination)).toMatch(
    /^TasksMessagesDeadLetters/,
  )
})

test.each([
  ['a published task', 'INSERT', 'a:b', 'head', 'publish', true],
  ['a claim', 'MODIFY', 'a:b', 'head', 'claim', true],
  ['a heartbeat', 'MODIFY', 'a:b', 'head', 'beat', false],
  ['a body beside the head', 'INSERT', 'a:b', 'input#01', undefined, false],
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
