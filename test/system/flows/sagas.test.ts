import { beforeAll, describe, expect, it } from 'vitest'
import { aWorkerFleet, hasEnded } from '../../support/workers/worker-fleet.ts'

const { system, aWorker } = aWorkerFleet()

/** Each step has another kind of worker: a Lambda handler, a standalone worker, and a worker over HTTP (see `workOverHttp`). */
const STEPS = [
  { name: 'check', do: { type: 'resource.check' }, undo: { type: 'monitor.report' } },
  { name: 'init', do: { type: 'mysql.init' }, undo: { type: 'mysql.clean' } },
  { name: 'deduct', do: { type: 'resource.deduct' }, undo: { type: 'resource.restore' } },
]
const NAMES = STEPS.map(({ name }) => name)

beforeAll(async () => {
  for (const type of ['resource.deduct', 'resource.restore'])
    await put(type, { kind: 'http', defaults: { leaseMs: 1_500, retry: { maxRetries: 9, delayMs: 20 } } })
  await put('provision', { kind: 'flow', steps: STEPS })
})

async function put(type: string, configuration: object): Promise<void> {
  const { status } = await system().call('PUT', `/v1/types/${type}`, configuration)
  expect(status).toBeLessThan(300)
}

/** Claims the steps of the HTTP worker until it is stopped. Each step does what the flow's input says of it. */
function workOverHttp(): () => Promise<void> {
  let isOver = false
  const work = async () => {
    while (!isOver) {
      const { body } = await system().call('POST', '/v1/claims', {
        types: ['resource.deduct', 'resource.restore'],
        workerId: 'clerk',
        limit: 20,
        waitMs: 300,
      })
      const words = body.claims.flatMap(({ task, run }: Claimed) => wordFor(task, run))
      if (words.length > 0) await system().call('POST', '/v1/runs/finish', { runs: words })
    }
  }
  const working = work()
  return async () => {
    isOver = true
    await working
  }
}

type Shown = {
  readonly id: string
  readonly step: string
  readonly direction: string
  readonly params: Partial<Told>
  readonly attempts: { readonly used: number }
}
type Claimed = { readonly task: Shown; readonly run: { readonly id: string; readonly fence: number } }

/** The report of a run; none from a worker that dies on its first attempt. */
function wordFor({ id, step, direction, params, attempts }: Shown, run: Claimed['run']): object[] {
  const name = direction === 'undo' ? `undo ${step}` : step
  if (params.dies?.includes(name) && attempts.used === 1) return []
  const word = { taskId: id, runId: run.id, fence: run.fence }
  if (!params.fails?.includes(name)) return [{ ...word, outcome: 'succeed', result: step }]
  return [{ ...word, outcome: 'fail', fatal: true, error: { name: 'Error', message: `${name} fails` } }]
}

type Told = { readonly fails: readonly string[]; readonly dies: readonly string[] }

/** What a saga's record must show when its steps fail as told. */
function expected({ fails }: Told) {
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

/** The steps and undos that such a saga completes without a failure. */
function passed(fails: readonly string[]): string[] {
  const failedAt = NAMES.findIndex(name => fails.includes(name))
  if (failedAt < 0) return [...NAMES]
  const done = NAMES.slice(0, failedAt)
  const undone = NAMES.slice(0, failedAt + 1).map(name => `undo ${name}`)
  return [...done, ...undone.slice(undone.findLastIndex(name => fails.includes(name)) + 1)]
}

/** Every way to fail: undisturbed, and with a worker killed between the claim and the finish of one step or undo. */
const CASES: readonly Told[] = [[], [], [], ...failing].flatMap((fails, nth) => {
  const pieces = passed(fails)
  const killed = pieces[nth % Math.max(1, pieces.length)]
  return [{ fails, dies: [] }, ...(killed === undefined ? [] : [{ fails, dies: [killed] }])]
})

// biome-ignore lint/suspicious/noExplicitAny: tasks are read as users read them
type Task = any

describe('a saga of three steps, by a handler, a standalone worker and an HTTP worker', () => {
  it('succeeds, or undoes in reverse order, each once, wherever it fails and whichever worker dies', async () => {
    // A worker whose process dies is replaced, as its service would replace it.
    let isOver = false
    // Each worker takes one task at a time. A message that it has received but not claimed when it dies stays hidden for half a minute.
    const keepWorkers = Array.from({ length: 2 }, async () => {
      while (!isOver) await (await aWorker(['--concurrency', '1'])).ended
    })
    const stop = workOverHttp()
    const ids = CASES.map((_, index) => `provision:case-${index}`)
    const tasks = CASES.map((input, index) => ({ type: 'provision', key: `case-${index}`, input }))
    await system().call('POST', '/v1/tasks', { tasks })

    const ended: Task[] = []
    for (const id of ids) ended.push(await system().taskWhen(id, hasEnded))

    isOver = true
    await stop()
    void keepWorkers
    for (const [index, task] of ended.entries()) {
      const told = CASES[index]
      const { states, ...rest } = expected(told as Told)
      expect({ told, ...task, states: task.steps.map((step: Task) => step.state) }).toMatchObject({
        told,
        states,
        ...rest,
      })
      expect(undoEnds(task)).toEqual(undoEnds(task).toSorted((a, b) => a - b))
    }
  })
})

/** When each undo ended, from the last step to the first. */
function undoEnds(task: Task): number[] {
  return task.steps
    .filter((step: Task) => step.undo?.endedAt)
    .map((step: Task) => Date.parse(step.undo.endedAt))
    .reverse()
}
