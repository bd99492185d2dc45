import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LocalCloud } from '../../local/cloud.ts'
import { type MeterSnapshot, totalOf } from '../../local/gateway/meter.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { type Client, createClient } from '../../shared/client/client.ts'
import { signedFetch } from '../../shared/client/signed/signed-fetch.ts'
import type { Status } from '../../shared/core/task/lifecycle.ts'
import { HTTP_TYPES, startHttpWorker, startReceiver } from './http-worker.ts'
import { callbacksOf, type DemoCanvas, type DemoTask, type Types, taskCountOf } from './pieces.ts'
import { sagaTypes, workload } from './workload.ts'

/**
 * The demonstration of `npm start`. `workload.ts` defines tasks of each kind. `http-worker.ts` runs some of them, and receives the
 * webhooks of others. This file publishes them, checks every result, and prints latencies and costs.
 */

const TEXTS = new URL('../../examples/data/', import.meta.url)
/** The demonstration takes some 20 seconds. A task that has not ended after this time is reported as not as expected. */
const DEMONSTRATION_MS_MAX = 120_000

/**
 * Publishes the demonstration workload through the HTTP API, shows its progress, and prints the summary. Returns true if every task
 * ended as expected and every duplicate was recognised.
 */
export async function runDemonstration(cloud: LocalCloud): Promise<boolean> {
  const texts = new Map(readdirSync(TEXTS).map(name => [name, readFileSync(new URL(name, TEXTS), 'utf8')]))
  const { credentials } = cloud.clientOptions
  const client = createClient({ url: cloud.apiUrl, fetch: signedFetch({ credentials }) })
  const receiver = await startReceiver()
  const { demoTasks, canvases } = workload(texts, receiver.url)
  for (const [type, configuration] of Object.entries(typesAt(receiver.url)))
    await client.putType(type, configuration)
  const tasks = taskCountOf(demoTasks, canvases)
  const worker = startHttpWorker(client)
  const before = cloud.meter.snapshot()
  try {
    const [duplicates, duplicateCanvases] = await Promise.all([
      publishTasks(client, demoTasks),
      publishCanvases(client, canvases),
    ])
    await showProgress(client, typesOf(demoTasks), tasks, DEMONSTRATION_MS_MAX)
    const verdicts = await verify(client, demoTasks, canvases)
    const problems = [
      ...verdicts.flatMap(({ problems: found }) => found),
      ...duplicates,
      ...duplicateCanvases,
    ]
    summarise(verdicts, tasks, cloud.meter.since(before))
    for (const problem of problems) console.error(`not as expected: ${problem}`)
    reportVerdict(verdicts, tasks, problems)
    return problems.length === 0
  } finally {
    await worker.stop()
    await receiver.stop()
  }
}

/** The types that are registered over HTTP. Flows come after the types of their steps. */
function typesAt(receiverUrl: string): Types {
  return {
    webhook: { kind: 'webhook', webhook: { allowPrivate: true } },
    ...HTTP_TYPES,
    ...sagaTypes(receiverUrl),
  }
}

/** The types of all tasks, including tasks of canvases and callbacks. */
function typesOf(demoTasks: readonly DemoTask[]): string[] {
  return [...new Set([...demoTasks.map(({ publication }) => publication.type), ...Object.keys(HTTP_TYPES)])]
}

/** Publishes all tasks, then the first ones once more. Returns a problem for each refused task, and for each key that was created twice. */
async function publishTasks(client: Client, demoTasks: readonly DemoTask[]): Promise<string[]> {
  const publications = demoTasks.map(({ publication }) => publication)
  const results = await client.publishMany(publications)
  const again = await client.publishMany(publications.slice(0, 20))
  return [
    ...results.flatMap(({ problem }, nth) =>
      problem ? [`${publications[nth]?.type}:${publications[nth]?.key} was refused: ${problem.detail}`] : [],
    ),
    ...again.flatMap(({ created, id }) => (created === false ? [] : [`${id} was created twice`])),
  ]
}

/** Publishes all canvases, then the first ones once more. Returns a problem for each key that the system created twice. */
async function publishCanvases(client: Client, canvases: readonly DemoCanvas[]): Promise<string[]> {
  for (const { canvas, key } of canvases) await client.publish(canvas, { key })
  const again = await Promise.all(
    canvases.slice(0, 2).map(({ canvas, key }) => client.publish(canvas, { key })),
  )
  return again.flatMap(({ created, id }) => (created ? [`${id} was created twice`] : []))
}

function reportVerdict(verdicts: readonly Verdict[], tasks: number, problems: readonly string[]): void {
  const asExpected = verdicts.filter(verdict => verdict.problems.length === 0).length
  console.log(
    `${asExpected} of ${verdicts.length} outcomes of ${tasks} tasks are as expected; ${problems.length === 0 ? 'there is no problem' : 'the problems are listed above'}.`,
  )
}

const STATUSES = ['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed'] as const
const BAR_WIDTH = 30
const POLL_MS = 500

/** Shows the progress of all tasks of these types until `tasks` have ended or the time is up. A terminal shows it live. */
async function showProgress(
  client: Client,
  types: readonly string[],
  tasks: number,
  limitMs: number,
): Promise<void> {
  const until = Date.now() + limitMs
  for (;;) {
    const counts = await Promise.all(types.map(type => client.counts(type)))
    const total = (status: Status) => counts.reduce((sum, count) => sum + count[status], 0)
    const ended = total('succeeded') + total('failed')
    show(ended / tasks, STATUSES.map(status => `${total(status)} ${status}`).join(', '))
    if (ended >= tasks || Date.now() > until) break
    await sleep(POLL_MS)
  }
  if (process.stdout.isTTY) process.stdout.write('\n')
}

function show(share: number, text: string): void {
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH)
  const line = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${text}`
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`)
  else console.log(line)
}

/** Prints the outcomes of the workload by group, its latencies, and its cost in requests and units. */
function summarise(verdicts: readonly Verdict[], tasks: number, used: MeterSnapshot): void {
  console.log('\nOutcomes')
  const groups = Map.groupBy(verdicts, ({ group }) => group)
  for (const [group, members] of groups) console.log(`  ${group.padEnd(24)}${outcomes(members)}`)
  console.log('\nLatency (p50 / p95 / p99 / max)')
  const immediate = verdicts.filter(({ dueAt, createdAt }) => dueAt === createdAt)
  console.log(
    `  ${'publish to start'.padEnd(24)}${percentiles(waits(immediate))}   (all tasks are published at once)`,
  )
  const delayed = verdicts.filter(({ dueAt, createdAt }) => dueAt > createdAt)
  console.log(`  ${'lateness of delayed'.padEnd(24)}${percentiles(waits(delayed))}`)
  console.log('\nAWS use per task (a saga counts as one)')
  for (const [label, amount] of costs(used, tasks)) console.log(`  ${label.padEnd(24)}${amount}`)
  console.log()
}

function outcomes(members: readonly Verdict[]): string {
  const counts = Map.groupBy(members, ({ status }) => status)
  return [...counts].map(([status, ofStatus]) => `${ofStatus.length} ${status}`).join(', ')
}

function waits(verdicts: readonly Verdict[]): number[] {
  return verdicts.flatMap(({ startedAt, dueAt }) => (startedAt === undefined ? [] : [startedAt - dueAt]))
}

/** The requests and units of all callers, per task. */
function costs(used: MeterSnapshot, tasks: number): Array<[string, string]> {
  const per = (amount: number) => (amount / tasks).toFixed(2)
  const of = (service: string) => totalOf(used.filter(line => line.service === service))
  const dynamo = of('dynamodb')
  return [
    [
      'DynamoDB writes',
      `${per(dynamo.writeUnits)} units (${per(dynamo.failedWriteUnits)} of them for conditions that failed)`,
    ],
    ['DynamoDB reads', `${per(dynamo.readUnits)} units (watching and checking the workload included)`],
    ['SQS', `${per(of('sqs').requests)} requests`],
    ['Lambda', `${per(of('lambda').requests)} invocations`],
    ['Scheduler', `${per(of('scheduler').requests)} requests`],
  ]
}

/** The p50, p95, p99 and largest of the values, as `1 / 2 / 3 / 4 ms`. */
function percentiles(values: readonly number[]): string {
  if (values.length === 0) return 'none'
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)]
  return `${[at(0.5), at(0.95), at(0.99), sorted.at(-1)].map(value => Math.round(value ?? 0)).join(' / ')} ms`
}

/** The outcome of one task: the times (Unix ms) at which it was published, due and started, and its problems. */
type Verdict = {
  readonly group: string
  readonly status: string
  readonly createdAt: number
  readonly dueAt: number
  readonly startedAt: number | undefined
  readonly problems: readonly string[]
}

const READS_AT_ONCE = 10
/** The time within which a canvas ends after its last task. */
const CANVAS_LIMIT_MS = 10_000

/** Reads the outcome of every task, canvas and callback, and compares it with the expected one. */
async function verify(
  client: Client,
  demoTasks: readonly DemoTask[],
  canvases: readonly DemoCanvas[],
): Promise<Verdict[]> {
  return [
    ...(await inBatches(demoTasks, demoTask => verifyTask(client, demoTask))),
    ...(await inBatches(canvases, canvas => verifyCanvas(client, canvas))),
    ...(await verifyCallbacks(client, demoTasks)),
  ]
}

async function inBatches<Item>(
  items: readonly Item[],
  verdictOn: (item: Item) => Promise<Verdict>,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (let start = 0; start < items.length; start += READS_AT_ONCE) {
    verdicts.push(...(await Promise.all(items.slice(start, start + READS_AT_ONCE).map(verdictOn))))
  }
  return verdicts
}

async function verifyTask(client: Client, { group, publication, expected }: DemoTask): Promise<Verdict> {
  const id = `${publication.type}:${publication.key}`
  const task = await client.get(id)
  const problems: string[] = []
  if (task.status !== expected.status) problems.push(`${id} is ${task.status} instead of ${expected.status}`)
  if (expected.runs !== undefined && task.runs.length !== expected.runs)
    problems.push(`${id} had ${task.runs.length} runs instead of ${expected.runs}`)
  const problem = expected.problem?.(task)
  if (problem) problems.push(`${id}: ${problem}`)
  const createdAt = Date.parse(task.createdAt)
  return {
    group,
    status: task.status,
    createdAt,
    dueAt: publication.delayMs === undefined ? createdAt : Date.parse(task.dueAt),
    startedAt: task.startedAt === undefined ? undefined : Date.parse(task.startedAt),
    problems,
  }
}

async function verifyCanvas(client: Client, { group, key, problem, tasks }: DemoCanvas): Promise<Verdict> {
  const id = `canvas:${key}`
  await client.canvasResult(undefined, id, { timeoutMs: CANVAS_LIMIT_MS }).catch(() => undefined)
  const canvas = await client.canvas(id)
  const problems: string[] = []
  if (canvas.counts.succeeded !== tasks)
    problems.push(`${id} has ${canvas.counts.succeeded} succeeded tasks instead of ${tasks}`)
  const found = canvas.status === 'succeeded' ? problem(canvas) : `it is ${canvas.status}`
  if (found) problems.push(`${id}: ${found}`)
  const createdAt = Date.parse(canvas.createdAt)
  return { group, status: canvas.status, createdAt, dueAt: createdAt, startedAt: undefined, problems }
}

/** Every task with callbacks must have published the callback of its end once, and no other. */
async function verifyCallbacks(client: Client, demoTasks: readonly DemoTask[]): Promise<Verdict[]> {
  const calling = demoTasks.filter(demoTask => callbacksOf(demoTask).length > 0)
  const types = new Set(calling.flatMap(callbacksOf).map(({ type }) => type))
  const found: ApiTask[] = []
  for (const type of types) for await (const task of client.list({ type, limit: 100 })) found.push(task)
  const byParent = Map.groupBy(found, ({ parentId }) => parentId)
  return calling.map(demoTask => {
    const id = `${demoTask.publication.type}:${demoTask.publication.key}`
    return callbackVerdict(id, demoTask.expected.status, byParent.get(id) ?? [])
  })
}

function callbackVerdict(parentId: string, end: string, callbacks: readonly ApiTask[]): Verdict {
  const seen = callbacks.map(({ tags, status }) => `after ${tags?.after}: ${status}`).join(', ')
  const right = `after ${end}: succeeded`
  const createdAt = Math.min(...callbacks.map(callback => Date.parse(callback.createdAt)))
  return {
    group: 'callbacks',
    status: callbacks[0]?.status ?? 'missing',
    createdAt,
    dueAt: createdAt,
    startedAt: undefined,
    problems: seen === right ? [] : [`${parentId} called back '${seen}' instead of '${right}'`],
  }
}
