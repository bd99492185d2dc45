import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anHttpWorker, type Given } from '../../support/http/http-workers.ts'
import { type LocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'

let system: LocalSystem
let clerk: ReturnType<typeof anHttpWorker>

const OVER_HTTP = {
  sum: (terms: number[]) => terms.reduce((sum, term) => sum + term, 0),
  product: (factors: number[]) => factors.reduce((product, factor) => product * factor, 1),
}

beforeAll(async () => {
  system = await startLocalSystem()
  for (const type of Object.keys(OVER_HTTP)) await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  clerk = anHttpWorker(system, Object.keys(OVER_HTTP), ({ type, input }) => ({
    outcome: 'succeed',
    result: OVER_HTTP[type as keyof typeof OVER_HTTP](input),
  }))
})

afterAll(async () => {
  await clerk?.stop()
  await system?.stop()
})

/** Publishes a canvas and returns it once it has ended. */
async function ended(body: object): Promise<Given> {
  const published = await system.call('POST', '/v1/canvases', body)
  expect(published).toMatchObject({ status: 201, body: { id: expect.any(String) } })
  return canvasWhen(published.body.id)
}

function canvasWhen(id: string): Promise<Given> {
  return system.answerWhen(`/v1/canvases/${id}?limit=100`, ({ status }) => status !== 'running')
}

describe.each([
  ['handlers', 'add', 'multiply'],
  ['an HTTP worker', 'sum', 'product'],
  ['both', 'add', 'product'],
])('arithmetic by %s', (_workers, add, multiply) => {
  const sums = [
    { type: add, input: [1, 1] },
    { type: add, input: [2, 2] },
    { type: add, input: [5, 6] },
  ]

  it('as a chain hands each result on to the next task', async () => {
    const canvas = await ended({
      chain: [
        { type: add, input: [2, 2] },
        { type: add, input: [5, 6] },
        { type: multiply, input: [4] },
      ],
    })

    expect(canvas).toMatchObject({ status: 'succeeded', result: 60 })
  })

  it('as a group gives the results in the order of its members', async () => {
    expect(await ended({ group: sums })).toMatchObject({ status: 'succeeded', result: [2, 4, 11] })
  })

  it('as a chord gives the results to the callback', async () => {
    const canvas = await ended({ chord: { group: sums, then: { type: multiply, input: [] } } })

    expect(canvas).toMatchObject({ status: 'succeeded', result: 88 })
  })

  it('as a chain of groups of chords gives the right results', async () => {
    const chordOf = (group: object[]) => ({ chord: { group, then: { type: add, input: [] } } })
    const alone = sums.map(sum => ({ ...sum, immutable: true }))
    const canvas = await ended({
      chain: [{ group: [chordOf(sums), chordOf(sums)] }, { group: [chordOf(alone), { ...alone[0] }] }],
    })

    expect(canvas).toMatchObject({ status: 'succeeded', result: [17, 2] })
    expect(canvas.items).toHaveLength(13)
  })
})

it('an immutable member of a canvas receives no earlier result', async () => {
  const canvas = await ended({
    chain: [
      { type: 'add', input: [2, 2] },
      { type: 'note', input: [], immutable: true },
    ],
  })

  expect(canvas.result).toEqual({ words: [], previous: null })
})

it('a chain stops at an error, and onError receives the message of the error as first argument', async () => {
  const canvas = await ended({
    chain: [
      { type: 'add', input: [1] },
      {
        type: 'fail',
        input: ['no'],
        immutable: true,
        onError: [{ type: 'note', key: 'told', input: ['sorry'] }],
      },
      { type: 'add', input: [1] },
    ],
  })
  const note = await system.taskWhen('note:told', ({ status }) => status === 'succeeded')

  expect(canvas).toMatchObject({ status: 'failed', error: { message: 'no' } })
  expect(canvas.items.map(({ status }: Given) => status)).toEqual(['succeeded', 'failed', 'skipped'])
  expect(note.result.words).toEqual(['no', 'sorry'])
  expect(note.result.previous).toMatchObject({ taskId: canvas.items[1].taskId, error: { name: 'Fatal' } })
})

it('a chord with failing members runs its error callback once, and never its callback', async () => {
  const { body } = await system.call('POST', '/v1/canvases', {
    chord: {
      group: [
        { type: 'add', input: [1] },
        { type: 'fail', input: ['first'] },
        { type: 'fail', input: ['second'] },
      ],
      then: { type: 'note', input: [] },
      onError: { type: 'note', input: ['sorry'] },
    },
  })

  const canvas = await canvasWhen(body.id)

  expect(canvas).toMatchObject({ status: 'failed', error: { message: 'first' } })
  const [, , , then, onError] = canvas.items
  expect([then.status, onError.status]).toEqual(['skipped', 'succeeded'])
  expect((await system.call('GET', `/v1/tasks/${then.taskId}`)).status).toBe(404)
  expect(onError.result.words).toEqual(['first', 'sorry'])
  expect((await system.call('GET', `/v1/tasks/${onError.taskId}`)).body.runs).toHaveLength(1)
})

it('the cancellation of a canvas cancels all its open tasks', async () => {
  const { body } = await system.call('POST', '/v1/canvases', {
    chain: [
      {
        group: [
          { type: 'add', input: [1], delayMs: 3_600_000 },
          { type: 'add', input: [1] },
        ],
      },
      { type: 'add', input: [1] },
    ],
  })

  const answer = await system.call('POST', `/v1/canvases/${body.id}/cancel`)

  expect(answer).toMatchObject({ status: 200 })
  const items = async () => (await system.call('GET', `/v1/canvases/${body.id}`)).body.items
  await expect
    .poll(async () => (await items()).map(({ status }: Given) => status))
    .toEqual(['cancelled', expect.stringMatching(/succeeded|cancelled/), 'cancelled'])
})
