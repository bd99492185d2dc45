import { Lazy, RemovalPolicy } from 'aws-cdk-lib'
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { INDEXES, PRIMARY_KEY, TTL_ATTRIBUTE } from '../shared/aws/dynamo/keys.ts'
import { defined, illegal } from '../shared/core/values/values.ts'
import { watchThrottling } from './alarms.ts'
import { TASK_WRITE_UNITS, WARM_HEADROOM } from './bounds.ts'
import { allow, type Grantee } from './permissions/permissions.ts'
import type { Settings } from './settings.ts'

/** Read units per second that a new on-demand table and each of its indexes serve. Source: DynamoDB, warm throughput. */
const WARM_READ_UNITS_MIN = 12_000
/** Write units per second that a new on-demand table and each of its indexes serve. Source: DynamoDB, warm throughput. */
const WARM_WRITE_UNITS_MIN = 4_000

/** The most write units per second of a table, by default. Source: DynamoDB quotas. */
const TABLE_WRITE_UNITS_MAX = 40_000

type ItemAction = 'GetItem' | 'BatchGetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem'
type IndexName = keyof typeof INDEXES

export type TableUse = {
  readonly items: readonly ItemAction[]
  /** What may be queried: indexes by name, and `items` for the table itself. */
  readonly queries?: ReadonlyArray<IndexName | 'items'>
}

/**
 * The access that code needs to publish tasks. The code reads the list of types, so that it can name the existing ones when a type is
 * unknown. It also reads members of canvases, and the turns of tenants from the index.
 */
export const PUBLISHER_ACCESS: TableUse = {
  items: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
  queries: ['items', 'place'],
}

/** The access of the waker, the sweeper and the jobs. They publish, and read the heads of an index. */
export const MACHINERY_ACCESS: TableUse = {
  items: PUBLISHER_ACCESS.items,
  queries: ['items', 'view', 'place'],
}

export type TableLimits = {
  /** The table throttles above this many write units per second. @default none */
  readonly maxWriteUnitsPerSecond?: number
  /** The table throttles above this many read units per second. @default none */
  readonly maxReadUnitsPerSecond?: number
}

/**
 * The throughput of the table and its indexes from the first second on. A new on-demand table serves 4,000 write units per
 * second, which are some 1,300 plain tasks. DynamoDB raises it with the traffic, but not at once.
 */
export type WarmThroughput = {
  /** 4,000 or more. A plain task consumes 3 units of the table and 3 units of an index. */
  readonly writeUnitsPerSecond: number
  /** 12,000 or more. */
  readonly readUnitsPerSecond: number
}

/** The options of a task system for its table. */
export type TableProps = {
  /** Limits of the table's throughput, against runaway cost. @default none */
  readonly tableLimits?: TableLimits
  /**
   * Throughput from the first second on. DynamoDB charges for it once, and it cannot be lowered.
   * @default for the sum of `expectedTasksPerSecond` of all handlers, else the throughput of a new table
   */
  readonly warmThroughput?: WarmThroughput
  /**
   * Whether DynamoDB names the keys that it throttles (CloudWatch Contributor Insights), for the table and its three indexes. These are
   * eight rules of $0.50 a month.
   * @default false
   */
  readonly contributorInsights?: boolean
}

/** The one table, built from the keys that the requests use. */
export class TaskTable extends Construct {
  readonly table: dynamodb.TableV2
  /** The expected tasks a second of all types that are added. */
  private expected = 0

  constructor(scope: Construct, id: string, settings: Settings, props: TableProps) {
    super(scope, id)
    const { tableLimits = {}, warmThroughput, contributorInsights = false } = props
    if (warmThroughput) refuseColdTable(warmThroughput)
    // The app adds types later. CDK's type of the option knows no value that is resolved later.
    const expected = Lazy.any({ produce: () => this.warmForExpected() }) as unknown as WarmThroughput
    const warm = { warmThroughput: warmThroughput ?? expected }
    this.table = new dynamodb.TableV2(this, 'Table', {
      partitionKey: { name: PRIMARY_KEY.partition, type: dynamodb.AttributeType.STRING },
      sortKey: { name: PRIMARY_KEY.sort, type: dynamodb.AttributeType.STRING },
      globalSecondaryIndexes: Object.values(INDEXES).map(index => ({
        indexName: index.name,
        partitionKey: { name: index.partition, type: dynamodb.AttributeType.STRING },
        sortKey: {
          name: index.sort,
          type: index.sortType === 'N' ? dynamodb.AttributeType.NUMBER : dynamodb.AttributeType.STRING,
        },
        projectionType: dynamodb.ProjectionType.KEYS_ONLY,
        ...warm,
      })),
      ...warm,
      billing: dynamodb.Billing.onDemand(
        defined({
          maxReadRequestUnits: tableLimits.maxReadUnitsPerSecond,
          maxWriteRequestUnits: tableLimits.maxWriteUnitsPerSecond,
        }),
      ),
      timeToLiveAttribute: TTL_ATTRIBUTE,
      dynamoStream: dynamodb.StreamViewType.NEW_IMAGE,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      ...(contributorInsights && {
        contributorInsightsSpecification: {
          enabled: true,
          mode: dynamodb.ContributorInsightsMode.THROTTLED_KEYS,
        },
      }),
      removalPolicy: settings.removalPolicy,
      deletionProtection: settings.removalPolicy === RemovalPolicy.RETAIN,
    })
    watchThrottling(this, settings, this.table)
  }

  /** Prepares the table for this many more tasks a second. */
  expect(tasksPerSecond = 0): void {
    this.expected += tasksPerSecond
  }

  private warmForExpected(): WarmThroughput | undefined {
    const units = this.expected * TASK_WRITE_UNITS * WARM_HEADROOM
    if (units <= WARM_WRITE_UNITS_MIN) return undefined
    const writeUnitsPerSecond = Math.min(units, TABLE_WRITE_UNITS_MAX)
    return { writeUnitsPerSecond, readUnitsPerSecond: WARM_READ_UNITS_MIN }
  }

  get streamArn(): string {
    const { tableStreamArn } = this.table
    if (tableStreamArn === undefined) throw new Error('the table was built without its stream')
    return tableStreamArn
  }

  indexArn(name: IndexName): string {
    return `${this.table.tableArn}/index/${INDEXES[name].name}`
  }

  nameTo(grantee: Grantee): void {
    grantee.addEnvironment('BATON_TABLE', this.table.tableName)
  }

  /** Grants exactly `use`, and sets the variable that names the table. */
  openTo(grantee: Grantee, { items, queries = [] }: TableUse): void {
    const { tableArn, tableName } = this.table
    const actions = items.map(action => `dynamodb:${action}`)
    allow(grantee, { actions, resources: [tableArn], environment: { BATON_TABLE: tableName } })
    const queried = queries.map(name => (name === 'items' ? tableArn : this.indexArn(name)))
    allow(grantee, { actions: ['dynamodb:Query'], resources: queried })
  }

  /** Allows `fn` to read this stream only. CDK's own grant would let it list the streams of the whole account. */
  openStreamTo(fn: LambdaFunction): void {
    const actions = ['DescribeStream', 'GetRecords', 'GetShardIterator'].map(action => `dynamodb:${action}`)
    allow(fn, { actions, resources: [this.streamArn] })
    // IAM checks the action ListStreams against all streams of the table, including past ones.
    allow(fn, { actions: ['dynamodb:ListStreams'], resources: [`${this.table.tableArn}/stream/*`] })
  }
}

function refuseColdTable({ readUnitsPerSecond, writeUnitsPerSecond }: WarmThroughput): void {
  const isWarm = readUnitsPerSecond >= WARM_READ_UNITS_MIN && writeUnitsPerSecond >= WARM_WRITE_UNITS_MIN
  if (isWarm && Number.isInteger(readUnitsPerSecond) && Number.isInteger(writeUnitsPerSecond)) return
  throw illegal(
    `warmThroughput is ${readUnitsPerSecond} read and ${writeUnitsPerSecond} write units a second; ` +
      `give whole numbers of at least ${WARM_READ_UNITS_MIN} and ${WARM_WRITE_UNITS_MIN}`,
  )
}
