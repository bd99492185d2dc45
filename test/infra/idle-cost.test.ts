import { expect, it } from 'vitest'
import { createApi } from '../../functions/http/create-api.ts'
import type { TaskSystemProps } from '../../infra/index.ts'
import { prices } from '../../local/gateway/meter.ts'
import { sweep } from '../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../shared/runtime/sweep/sweep-round.ts'
import { claimOperations } from '../../shared/service/operations/runs.ts'
import { aMeteredDynamo } from '../support/dynamo/metered-dynamo.ts'
import { aMemorySystem, type MemorySystem, registered } from '../support/worlds/memory-system.ts'
import { aSystem, type Resource, readTemplate } from './synthesised.ts'

/** Computes the cost of an idle month from the synthesised template, requests counted on DynamoDB Local, and list prices. */

const MONTH_MIN = 30 * 24 * 60
/** Five pollers wait 20 s each. Only a mapping without a maximum concurrency has fewer. Source: Lambda with SQS, scaling. */
const POLLS_PER_MIN = 5 * 3
/** An upper estimate of the billed time of an empty round of the sweeper. */
const SWEEP_MS = 300
/** An upper estimate of the billed time of a poll of an idle worker. */
const POLL_MS = 100

const dynamo = aMeteredDynamo()

async function aMeteredSystem(): Promise<MemorySystem> {
  const stores = dynamo.storesOf(await dynamo.createTable())
  return { ...aMemorySystem(), ...stores } as MemorySystem
}

const gbSeconds = (ms: number, memoryMb: number) => (ms / 1_000) * (memoryMb / 1_024) * prices.lambdaGbSecond
const unitsCost = ({ reads, writes }: { reads: number; writes: number }) =>
  reads * prices.readUnit + writes * prices.writeUnit

type Replica = { readonly ContributorInsightsSpecification?: { readonly Enabled: boolean } }

/** The number of metrics that alarms watch: an alarm on an expression costs as much as its metrics. */
function watchedMetrics(alarms: readonly Resource[]): number {
  const isMetric = ({ MetricStat }: { MetricStat?: unknown }) => MetricStat !== undefined
  return alarms.reduce((sum, { Properties }) => sum + (Properties.Metrics?.filter(isMetric).length ?? 1), 0)
}

it('an idle default stack costs at most $2 a month', async () => {
  const { ofType } = readTemplate(aSystem().stack)
  const system = await aMeteredSystem()
  const measures: string[] = []
  const lines: string[] = []
  const complain = (message: string) => void lines.push(message)
  Object.assign(system, {
    metrics: { add: (name: string) => void measures.push(name) },
    log: { debug: () => {}, info: () => {}, warn: complain, error: complain },
  })
  await registered(system, { type: 'webhook', configuration: { kind: 'webhook', defaults: {} } })
  system.messages.backlogs.set('webhook', 0)
  const memory = createSweepMemory()
  const round = () => sweep(system, memory)
  await round()
  await system.clock.advance(60_000)
  dynamo.takeByKind()

  await round()

  const { MemorySize } = ofType('AWS::Lambda::Function').find(({ id }) =>
    id.startsWith('TasksSweeper'),
  )!.Properties
  const mappings = ofType('AWS::Lambda::EventSourceMapping').filter(
    ({ Properties }) => Properties.ScalingConfig?.MaximumConcurrency,
  )
  const bill = {
    alarms: watchedMetrics(ofType('AWS::CloudWatch::Alarm')) * prices.alarmMetric,
    pollers: mappings.length * POLLS_PER_MIN * MONTH_MIN * prices.sqsRequest,
    sweeperReads: MONTH_MIN * unitsCost(dynamo.takeByKind()),
    sweeperRuns: MONTH_MIN * (prices.lambdaInvocation + gbSeconds(SWEEP_MS, MemorySize)),
    // One receive that finds no dead letter, and the number of messages of one queue.
    sweeperQueues: 2 * MONTH_MIN * prices.sqsRequest,
    schedule: MONTH_MIN * prices.schedulerInvocation,
  }
  const total = Object.values(bill).reduce((sum, part) => sum + part, 0)
  if (process.env.MEASURE) console.log('measured: idle stack, $ a month:', bill, total)

  expect(measures, 'each metric costs $0.30').toEqual([])
  expect(lines).toEqual([])
  expect(mappings).toHaveLength(3)
  expect(ofType('AWS::Lambda::Function').every(({ Properties }) => !Properties.TracingConfig)).toBe(true)
  expect(total).toBeLessThanOrEqual(2)
})

it('Contributor Insights are off, since their eight rules would cost $4 a month', () => {
  const rulesOf = (props: TaskSystemProps) => {
    const { Properties } = readTemplate(aSystem(props).stack).ofType('AWS::DynamoDB::GlobalTable')[0]!
    const [{ ContributorInsightsSpecification: own, GlobalSecondaryIndexes = [] }] = Properties.Replicas
    const all = [own, ...GlobalSecondaryIndexes.map((one: Replica) => one.ContributorInsightsSpecification)]
    // Each watched table or index with a sort key has a rule for its partition keys and one for its items.
    return 2 * all.filter(one => one?.Enabled).length
  }

  expect(rulesOf({}) * prices.contributorRule).toBe(0)
  expect(rulesOf({ contributorInsights: true }) * prices.contributorRule).toBe(4)
})

it('an idle waiting HTTP worker costs at most $4 a month', async () => {
  const { ofType } = readTemplate(aSystem().stack)
  const claims = ofType('AWS::Lambda::Function').find(({ id }) => id.startsWith('TasksApiClaims'))!.Properties
  const retryAfterMs = Number(claims.Environment.Variables.BATON_CLAIM_RETRY_MS)
  const system = await aMeteredSystem()
  await registered(system, { type: 'jobs', configuration: { kind: 'http', defaults: {} } })
  const poll = async () => {
    const answer = await createApi(system, claimOperations).request('/v1/claims', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'jobs', workerId: 'idle', waitMs: 20_000 }),
    })
    return answer.json()
  }
  // The worker has waited twice without a task.
  const [startedAt, types] = [system.clock.now(), ['jobs']]
  const typesSeen = { jobs: startedAt }
  await system.workers.announce({
    ...{ workerId: 'idle', kind: 'http', types, typesSeen, emptyWaits: 2 },
    ...{ startedAt, lastSeen: startedAt },
  })
  dynamo.takeByKind()
  const polls = 30
  const answers: unknown[] = []

  const from = system.clock.now()
  for (let nth = 0; nth < polls; nth++) {
    answers.push(await poll())
    await system.clock.advance(Math.max(0, from + (nth + 1) * retryAfterMs - system.clock.now()))
  }

  const units = dynamo.takeByKind()
  const perMonth = (MONTH_MIN * 60_000) / retryAfterMs
  const bill = {
    api: perMonth * prices.apiRequest,
    invocations: perMonth * prices.lambdaInvocation,
    compute: perMonth * gbSeconds(POLL_MS, claims.MemorySize),
    table: (perMonth / polls) * unitsCost(units),
  }
  const total = Object.values(bill).reduce((sum, part) => sum + part, 0)
  if (process.env.MEASURE) {
    const perPoll = { reads: units.reads / polls, writes: units.writes / polls }
    console.log('measured: idle HTTP worker, $ a month:', bill, total, perPoll)
  }

  expect(answers).toEqual(Array.from({ length: polls }, () => ({ claims: [], retryAfterMs: 2_000 })))
  expect(units.writes).toBeLessThanOrEqual((polls * retryAfterMs) / 10_000)
  expect(total).toBeLessThanOrEqual(4)
})
