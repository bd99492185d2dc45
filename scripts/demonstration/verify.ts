import type { ApiTask } from '../../shared/api/tasks.ts'
import type { Client } from '../../shared/client/client.ts'
import { callbacksOf, type DemoCanvas, type DemoTask } from './demo-task.ts'

/** The outcome of one task: the times (Unix ms) at which it was published, due and started, and its problems. */
export type Verdict = {
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
export async function verify(
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
