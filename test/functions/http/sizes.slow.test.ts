import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { claimBytesMax } from '../../../shared/core/run/claim.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { escapedBytes } from '../../../shared/core/values/values.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { withContents } from '../../../shared/runtime/claim/claimed-task.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { anApi, anApiPerTest, claimed, pagesOf, published, type Shown } from '../../support/http/an-api.ts'

/** `api.call` compares the size of every answer with the limit of Lambda. */
const api = anApiPerTest()

/** The text that grows most: it has twice its bytes as JSON, and four times its bytes after the JSON is escaped. */
const quotes = (bytes: number) => '"'.repeat(bytes / 2 - 1)
const LARGEST = quotes(350 * 1024)
/** Tags that take most of what a head may: 50 names and values of the longest kind. */
const FAT_TAGS = Object.fromEntries(
  Array.from({ length: 50 }, (_, n) => [`${n}`.padEnd(128, '"'), '"'.repeat(256)]),
)
const FAT_WORKERS = Array.from({ length: 100 }, (_, n) => `w${n}${'😀'.repeat(63)}`)

const claim = async (body: object = {}): Promise<Shown[]> =>
  (await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1', limit: 100, ...body })).body.claims

async function claimAll(body: object = {}): Promise<Shown[][]> {
  const answers: Shown[][] = []
  for (let some = await claim(body); some.length > 0; some = await claim(body)) answers.push(some)
  return answers
}

async function succeed(run: Awaited<ReturnType<typeof claimed>>, result: unknown) {
  const { status, body } = await api.call('POST', `${run.path}/succeed`, { fence: run.fence, result })
  if (status !== 200) throw new Error(JSON.stringify(body).slice(0, 300))
  return body.task
}

/** Passes the changes of these tasks to the planner. */
async function plan(ids: readonly string[]) {
  const heads = await Promise.all(ids.map(id => api.system.tasks.head(id)))
  await planChanges(
    api.system,
    heads.flatMap((task, index) => (task ? [{ task, position: String(index) }] : [])),
  )
}

describe('claims', () => {
  it('of a hundred ordinary inputs of 64 KB are all delivered, in several answers', async () => {
    const row = (n: number) => ({
      id: `ord-${n}`,
      sku: `A${n % 97}`,
      name: 'Blue shirt',
      tags: ['new', 'sale'],
    })
    const rows = Array.from({ length: 900 }, (_, n) => row(n))
    for (let n = 0; n < 100; n++) await published(api, { key: `${n}`, input: { rows } })

    const answers = await claimAll()

    expect(answers.flat()).toHaveLength(100)
    expect(new Set(answers.flat().map(({ task }) => task.id)).size).toBe(100)
    expect(answers.flat().every(({ task }) => task.input.rows.length === 900)).toBe(true)
    expect(answers[0]?.length).toBeGreaterThan(40)
  })

  it.each([
    ['inputs of quotes', 20, { input: LARGEST }, 8],
    ['inputs of control characters', 20, { input: '\u0001'.repeat(59_000) }, 8],
    ['large tags', 100, { tags: FAT_TAGS }, 15],
    ['small inputs', 100, { input: { n: 1 } }, 50],
  ])('of %s are all delivered', async (_what, count, body, atLeast) => {
    for (let n = 0; n < count; n++) await published(api, { key: `${n}`, ...body })

    const answers = await claimAll()

    expect(answers.flat()).toHaveLength(count)
    expect(answers[0]?.length).toBeGreaterThanOrEqual(atLeast)
  })

  it('never take more room in an answer than their heads announced', async () => {
    const text = (maxLength: number) =>
      fc.string({ unit: fc.constantFrom('"', '\\', '界', '😀', 'a'), minLength: 1, maxLength })
    const body = fc.record(
      {
        key: text(200),
        userId: text(200),
        fairnessKey: text(200),
        tags: fc.dictionary(text(128), text(256), { maxKeys: 50 }),
        stage: text(100),
        concurrency: fc.integer({ min: 1, max: 100 }),
        input: fc.oneof(
          fc.array(fc.dictionary(text(10), fc.boolean())),
          text(20_000),
          fc.array(text(10), { maxLength: 2_000 }),
        ),
      },
      { requiredKeys: ['key'] },
    )
    await fc.assert(
      fc.asyncProperty(body, async given => {
        const fresh = await anApi()
        const id = await published(fresh, given)
        for (const word of ['fail', 'release', 'fail'] as const) {
          const run = await claimed(fresh, { workerId: `w${LARGEST.slice(0, 150)}` })
          const error = { name: LARGEST, message: LARGEST }
          const more = word === 'fail' ? { error, retryInMs: 0 } : {}
          await fresh.call('POST', `${run.path}/${word}`, { fence: run.fence, ...more })
        }
        const head = (await fresh.system.tasks.head(id)) as Task
        const { body: answer } = await fresh.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w' })
        expect(answer.claims).toHaveLength(1)
        expect(escapedBytes(answer.claims[0])).toBeLessThanOrEqual(claimBytesMax(head))
      }),
      { numRuns: 60 },
    )
  })

  it('for which the answer has no room are given back without counting an attempt', async () => {
    const { system } = api
    const ids: string[] = []
    for (let n = 0; n < 12; n++) ids.push(await published(api, { key: `${n}`, input: LARGEST }))
    const heads = await Promise.all(ids.map(id => system.tasks.head(id) as Promise<Task>))
    const all = await Promise.all(heads.map(head => claimTask(system, head, { workerId: 'w1' })))

    const held = await withContents(
      system,
      all.flatMap(one => ('run' in one ? [one] : [])),
    )

    expect(held.map(({ task }) => task.id)).toEqual(ids.slice(0, 8))
    const rest = await Promise.all(
      ids.slice(8).map(async id => (await api.call('GET', pathOf('get', id))).body),
    )
    expect(rest.map(({ status, attempts }) => [status, attempts.used])).toEqual(
      Array.from({ length: 4 }, () => ['ready', 0]),
    )
  })

  it('repeated after their tasks have grown give back the tasks for which there is no room', async () => {
    for (let n = 0; n < 20; n++) await published(api, { key: `${n}`, input: 'x' })
    const first = await claim({ requestId: 'r' })
    for (const { task } of first) await api.call('PATCH', pathOf('get', task.id), { input: LARGEST })

    const again = await claim({ requestId: 'r' })

    expect([first.length, again.length]).toEqual([20, 8])
    expect(await claim({ workerId: 'w2' })).toHaveLength(8)
  })
})

describe('a flow with parameters of 2 MB', () => {
  const STEPS = Array.from({ length: 8 }, (_, n) => ({ name: `s${n}`, do: { type: 'jobs' } }))

  async function runSteps(count: number, result: unknown) {
    await api.call('PUT', '/v1/types/order', { kind: 'flow', steps: STEPS })
    await api.call('POST', '/v1/tasks', { type: 'order', key: 'k', input: { a: 1 } })
    for (let n = 0; n < count; n++) await succeed(await claimed(api), result)
    return (await claim({ limit: 1 }))[0]
  }

  it('shows them as input and as params when both fit', async () => {
    const { task } = await runSteps(5, { text: 'x'.repeat(340_000) })

    expect(Object.keys(task.params)).toEqual(['a', 's0', 's1', 's2', 's3', 's4'])
    expect(task.input).toEqual(task.params)
    expect(task).not.toHaveProperty('inputIsParams')
  })

  it('shows them once and names the omitted part when every character is escaped', async () => {
    const { task } = await runSteps(5, LARGEST)
    const shown = (await api.call('GET', '/v1/tasks/order:k')).body

    expect(Object.keys(task.params)).toEqual(['a', 's0', 's1', 's2', 's3', 's4'])
    expect(task).toMatchObject({ inputIsParams: true })
    expect(task).not.toHaveProperty('input')
    expect(shown.omitted).toEqual(['params'])
    expect(shown.steps.slice(0, 5).every(({ result }: Shown) => result === LARGEST)).toBe(true)
  })
})

it('all flows with results of quotes are delivered, in several answers', async () => {
  const steps = ['one', 'two'].map(name => ({ name, do: { type: 'jobs' } }))
  await api.call('PUT', '/v1/types/order', { kind: 'flow', steps })
  for (let n = 0; n < 6; n++) await published(api, { type: 'order', key: `${n}`, input: {} })
  for (const { task, run } of await claim()) {
    const path = `${pathOf('get', task.id)}/runs/${run.id}/succeed`
    await api.call('POST', path, { fence: run.fence, result: LARGEST })
  }

  const answers = await claimAll()

  expect(answers.map(({ length }) => length)).toEqual([4, 2])
  expect(answers.flat().every(({ task }) => task.params.one === LARGEST && task.input.one === LARGEST)).toBe(
    true,
  )
})

describe('a task', () => {
  it('with twenty results of quotes is shown with its result, and with as many of the last ones as fit', async () => {
    const id = await published(api, { key: 'k', concurrency: 20, input: LARGEST })
    for (let n = 0; n < 20; n++) await succeed(await claimed(api, { workerId: `w${n}` }), LARGEST)

    const { body } = await api.call('GET', pathOf('get', id))

    const results = body.runs.map(({ result }: Shown) => result)
    expect([body.input, body.result]).toEqual([LARGEST, LARGEST])
    expect(body.omitted).toEqual(['runs.result'])
    expect(results.slice(-5)).toEqual(Array.from({ length: 5 }, () => LARGEST))
    expect(results.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => undefined))
  })

  it('of ordinary size omits nothing', async () => {
    const id = await published(api, { key: 'k', input: LARGEST })
    await succeed(await claimed(api), LARGEST)

    const { body } = await api.call('GET', pathOf('get', id))

    expect([body.input, body.result, body.runs[0].result]).toEqual([LARGEST, LARGEST, LARGEST])
    expect(body).not.toHaveProperty('omitted')
  })
})

describe('a list', () => {
  it('of tasks with large heads comes complete, in shorter pages', async () => {
    for (let n = 0; n < 100; n++) {
      await published(api, { key: `${n}`, tags: FAT_TAGS, workerIds: FAT_WORKERS, concurrency: 100 })
    }

    const found = (await pagesOf(api, '/v1/tasks?type=jobs&order=due&limit=100')).map(({ items }) => items)

    expect(
      found
        .flat()
        .map(({ key }) => key)
        .sort(),
    ).toEqual(Array.from({ length: 100 }, (_, n) => `${n}`).sort())
    expect(found.length).toBeGreaterThan(1)
  })

  it('of large types comes complete, in shorter pages', async () => {
    const steps = Array.from({ length: 40 }, (_, n) => ({
      name: `s${n}`,
      do: { type: 'jobs', input: quotes(2_400) },
    }))
    for (let n = 0; n < 60; n++) await api.call('PUT', `/v1/types/flow-${n}`, { kind: 'flow', steps })

    const found = (await pagesOf(api, '/v1/types?limit=100')).map(({ items }) => items)

    expect(found.flat()).toHaveLength(62)
    expect(found.length).toBeGreaterThan(1)
  })
})

describe('a batch', () => {
  it('of tasks with large defaults leaves out the last tasks, and nothing else', async () => {
    await api.call('PUT', '/v1/types/jobs', {
      kind: 'http',
      defaults: { workerIds: FAT_WORKERS, concurrency: 100 },
    })
    const tasks = Array.from({ length: 100 }, (_, n) => ({ type: 'jobs', key: `${n}`, tags: FAT_TAGS }))

    const { status, body } = await api.call('POST', '/v1/tasks/batch', { tasks })

    expect(status).toBe(200)
    expect(body.results.map(({ id }: Shown) => id)).toEqual(tasks.map(({ key }) => `jobs:${key}`))
    expect(body.results[0].task.options.workerIds).toHaveLength(100)
    expect(Object.keys(body.results[99])).toEqual(['status', 'id', 'created'])
  })

  it('whose members each have thousands of problems gets the first problems of each member', async () => {
    const nonsense = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`"${n}`, 1]))
    const tasks = Array.from({ length: 100 }, () => ({ type: 'jobs', ...nonsense }))

    const { body } = await api.call('POST', '/v1/tasks/batch', { tasks })
    const one = await api.call('POST', '/v1/tasks', { type: 'jobs', ['"'.repeat(1_900_000)]: 1 })

    expect(body.results.every(({ status }: Shown) => status === 400)).toBe(true)
    expect(body.results[0].problem.errors).toHaveLength(100)
    expect([one.status, one.body.errors.length]).toEqual([400, 1])
  })

  it('of finishes with endless names is refused member by member', async () => {
    const runs = Array.from({ length: 2 }, () => ({
      taskId: quotes(1_900_000),
      runId: 'x',
      fence: 1,
      outcome: 'release',
    }))

    const { body } = await api.call('POST', '/v1/runs/finish', { runs })

    expect(body.results.map(({ status }: Shown) => status)).toEqual([404, 404])
  })
})

describe('a canvas', () => {
  async function ended(results: readonly unknown[]): Promise<string> {
    const group = results.map(() => ({ type: 'jobs' }))
    const { body } = await api.call('POST', '/v1/canvases', { group })
    for (const result of results) await succeed(await claimed(api), result)
    await plan(body.taskIds)
    return body.id
  }

  it('with results of quotes is read in pages that are all delivered', async () => {
    const id = await ended(Array.from({ length: 10 }, () => LARGEST))

    const pages = await pagesOf(api, `/v1/canvases/${encodeURIComponent(id)}?limit=100`)

    const results = pages.flatMap(({ items }) => items.map(({ result }: Shown) => result))
    for (const { status, result } of pages) expect([status, result]).toEqual(['succeeded', undefined])
    expect(results).toEqual(Array.from({ length: 10 }, () => LARGEST))
  })

  it('shows a result of 4 MB that needs no escaping', async () => {
    const id = await ended(Array.from({ length: 12 }, () => 'x'.repeat(340_000)))

    expect((await api.call('GET', `/v1/canvases/${encodeURIComponent(id)}`)).body.result).toHaveLength(12)
  })

  it('hands its results on in pages that are all delivered', async () => {
    const results = Array.from({ length: 20 }, () => LARGEST)
    await api.call('POST', '/v1/canvases', {
      chord: { group: results.map(() => ({ type: 'jobs' })), then: { type: 'jobs' } },
    })
    const ids: string[] = []
    for (const result of results) {
      const run = await claimed(api)
      ids.push(run.id)
      await succeed(run, result)
    }
    await plan(ids)
    const callback = await claimed(api)

    const found = (await pagesOf(api, `${pathOf('get', callback.id)}/previous?limit=100`)).flatMap(
      ({ items }) => items,
    )

    expect(found).toEqual(results)
  })
})
