import { beforeAll, describe, expect, it } from 'vitest'
import { anHttpWorker, type Report } from '../../support/http/http-workers.ts'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { aWorkerFleet } from '../../support/workers/worker-fleet.ts'

const { system, aWorker } = aWorkerFleet()

/** Each step has another kind of worker: a Lambda handler, a standalone worker, and a worker over HTTP (see `reportOf`). */
const STEPS = [
  { name: 'check', do: { type: 'resource.check' }, undo: { type: 'monitor.report' } },
  { name: 'init', do: { type: 'mysql.init' }, undo: { type: 'mysql.clean' } },
  { name: 'deduct', do: { type: 'resource.deduct' }, undo: { type: 'resource.restore' } },
]
const NAMES = STEPS.map(({ name }) => name)

const OVER_HTTP = ['resource.deduct', 'resource.restore']

beforeAll(async () => {
  for (const type of OVER_HTTP)
    await put(type, { kind: 'http', defaults: { leaseMs: 1_500, retry: { maxRetries: 9, delayMs: 20 } } })
  await put('provision', { kind: 'flow', steps: STEPS })
})

async function put(type: string, configuration: object): Promise<void> {
  const { status } = await system.call('PUT', `/v1/types/${type}`, configuration)
  expect(status).toBeLessThan(300)
}

type Shown = {
  readonly step: string
  readonly direction: string
  readonly params: Partial<Orders>
  readonly attempts: { readonly used: number }
}

/** How the HTTP worker ends a run, as the flow's input says. It reports nothing of the first attempt of a step at which it dies. */
function reportOf({ step, direction, params, attempts }: Shown): Report {
  const name = direction === 'undo' ? `undo ${step}` : step
  if (params.dies?.includes(name) && attempts.used === 1) return undefined
  if (!params.fails?.includes(name)) return { outcome: 'succeed', result: step }
  return { outcome: 'fail', fatal: true, error: { name: 'Error', message: `${name} fails` } }
}

type Orders = { readonly fails: readonly string[]; readonly dies: readonly string[] }

/** The record that a saga must have when the steps and undos in `fails` fail. */
function expected({ fails }: Orders) {
  const failedAt = NAMES.findIndex(name => fails.includes(name))
  if (failedAt < 0) return { status: 'succeeded', cursor: 2, states: NAMES.map(() => 'succeeded') }
  const halted = NAMES.slice(0, failedAt + 1).findLastIndex(name => fails.includes(`undo ${name}`))
  const states = NAMES.map((_, at) => {
    if (at > failedAt) return 'pending'
    if (at > halted) return 'undone'
    if (at === halted) return 'undo-failed'
    return 'succeeded'
  })
  return { status: 'failed', cursor: failedAt, states, ...(halted >= 0 && { needsAttention: true }) }
}

const failing = NAMES.flatMap((name, at) => [
  [name],
  ...NAMES.slice(0, at + 1).map(undone => [name, `undo ${undone}`]),
])

/** The steps and undos that a saga completes when those in `fails` fail. */
function completed(fails: readonly string[]): string[] {
  const failedAt = NAMES.findIndex(name => fails.includes(name))
  if (failedAt < 0) return [...NAMES]
  const done = NAMES.slice(0, failedAt)
  const undone = NAMES.slice(0, failedAt + 1).map(name => `undo ${name}`)
  return [...done, ...undone.slice(undone.findLastIndex(name => fails.includes(name)) + 1)]
}

/** Every way to fail, once undisturbed, and once with a worker that dies between the claim and the finish of one step or undo. */
const CASES: readonly Orders[] = [[], [], [], ...failing].flatMap((fails, nth) => {
  const pieces = completed(fails)
  const killed = pieces[nth % Math.max(1, pieces.length)]
  return [{ fails, dies: [] }, ...(killed === undefined ? [] : [{ fails, dies: [killed] }])]
})

// biome-ignore lint/suspicious/noExplicitAny: tasks are read as users read them
type Task = any

describe('a saga of three steps, by a handler, a standalone worker and an HTTP worker', () => {
  it('succeeds, or undoes each step once in reverse order, wherever it fails and whichever worker dies', async () => {
    // The test replaces a worker whose process dies, as a service would.
    let isOver = false
    // Each worker takes one task at a time: SQS hides the received messages of a worker that dies for half a minute.
    const keepWorkers = Array.from({ length: 2 }, async () => {
      while (!isOver) await (await aWorker(['--concurrency', '1'])).ended
    })
    const clerk = anHttpWorker(system, OVER_HTTP, reportOf)
    const ids = CASES.map((_, index) => `provision:case-${index}`)
    const tasks = CASES.map((input, index) => ({ type: 'provision', key: `case-${index}`, input }))
    await system.call('POST', '/v1/tasks/batch', { tasks })

    const ended: Task[] = []
    for (const id of ids) ended.push(await system.taskWhen(id, hasEnded))

    isOver = true
    await clerk.stop()
    void keepWorkers
    for (const [index, task] of ended.entries()) {
      const orders = CASES[index]
      const { states, ...rest } = expected(orders as Orders)
      expect({ orders, ...task, states: task.steps.map((step: Task) => step.state) }).toMatchObject({
        orders,
        states,
        ...rest,
      })
      expect(undoEnds(task)).toEqual(undoEnds(task).toSorted((a, b) => a - b))
    }
  })
})

/** The time at which each undo ended, from the last step to the first. */
function undoEnds(task: Task): number[] {
  return task.steps
    .filter((step: Task) => step.undo?.endedAt)
    .map((step: Task) => Date.parse(step.undo.endedAt))
    .reverse()
}
