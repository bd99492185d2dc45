import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../shared/client/client.ts'
import { chain, chord, group } from '../../shared/define/canvases.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { anApi } from '../support/http/an-api.ts'

const resize = defineTask('resize', {
  input: z.object({ url: z.string() }),
  run: async ({ url }) => ({ bytes: url.length }),
})
const montage = defineTask('montage', { run: () => 'montage' })
const order = defineFlow('order', {
  input: z.object({ url: z.string() }),
  steps: [{ name: 'resize', do: resize }],
})

/** The client makes a key where the caller gives none. */
const NEW_KEY = expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/)

let requests: Array<{ readonly call: string; readonly body: unknown }>
let answers: unknown[]
const client = createClient({
  url: 'http://baton.test',
  fetch: async request => {
    const body = request.body ? await request.json() : undefined
    requests.push({ call: `${request.method} ${request.url.slice('http://baton.test'.length)}`, body })
    return Response.json(answers.shift() ?? {})
  },
})
beforeEach(() => {
  requests = []
  answers = []
})

describe('a flow', () => {
  it('is published as a task of its type', async () => {
    await client.publish(order, { url: 'a' }, { key: 'o1' })
    await client.publish<typeof order>('order', { url: 'b' })

    expect(requests).toEqual([
      { call: 'POST /v1/tasks', body: { type: 'order', input: { url: 'a' }, key: 'o1' } },
      { call: 'POST /v1/tasks', body: { type: 'order', input: { url: 'b' }, key: NEW_KEY } },
    ])
  })

  it('has the result of its last step, for which the client also waits while the flow undoes steps', async () => {
    answers.push(
      { id: 'order:o1', status: 'compensating' },
      { id: 'order:o1', status: 'succeeded', result: 1 },
    )

    const result = await client.result(order, 'order:o1')

    expectTypeOf(result).toEqualTypeOf<{ bytes: number }>()
    expect(result).toBe(1)
  })
})

describe('a canvas', () => {
  it('is published unchanged', async () => {
    const images = [resize.with({ url: 'a' }), resize.with({ url: 'b' })]
    answers.push({ id: 'c1', created: true, taskIds: ['resize:1', 'resize:2', 'montage:3'] })

    const published = await client.publish(chord(images, montage), { key: 'c1', sendConcurrency: 5 })

    expect(published).toMatchObject({ id: 'c1', created: true })
    expect(published.taskIds).toHaveLength(3)
    expect(requests).toEqual([
      {
        call: 'POST /v1/canvases',
        body: {
          key: 'c1',
          sendConcurrency: 5,
          chord: { group: images, then: { type: 'montage' } },
        },
      },
    ])
  })

  it.each([
    ['chain', chain(montage)],
    ['group', group([montage])],
  ])('that is a %s needs no options', async (name, canvas) => {
    await client.publish(canvas)

    expect(requests).toEqual([
      { call: 'POST /v1/canvases', body: { [name]: [{ type: 'montage' }], key: NEW_KEY } },
    ])
  })

  it('has a result, typed by the canvas', async () => {
    const canvas = group([montage, order.with({ url: 'b' })])
    answers.push({ id: 'c/1', status: 'running' }, { id: 'c/1', status: 'succeeded', result: [1, 2] })

    const result = await client.canvasResult(canvas, 'c/1')

    expectTypeOf(result).toEqualTypeOf<[string, { bytes: number }]>()
    expect(result).toEqual([1, 2])
    expect(requests[1]?.call).toBe('GET /v1/canvases/~Yy8x?limit=1')
  })

  it('that is known only by its id has a result, too', async () => {
    answers.push({ id: 'c1', status: 'succeeded', result: 7 })

    const result = await client.canvasResult(undefined, 'c1')

    expectTypeOf(result).toEqualTypeOf<unknown>()
    expect(result).toBe(7)
  })

  it.each([
    ['failed', { name: 'Odd', message: 'no' }, 'c1 has failed: Odd: no'],
    ['cancelled', undefined, 'c1 was cancelled'],
  ])('that has ended as %s makes the wait for its result throw', async (status, error, detail) => {
    answers.push({ id: 'c1', status, error })

    await expect(client.canvasResult(undefined, 'c1')).rejects.toMatchObject({ problem: { detail } })
  })
})

it('the API accepts canvases as `chain`, `group` and `chord` make them', async () => {
  const api = await anApi()
  const real = createClient({ url: 'http://baton.test', fetch: async request => api.app.request(request) })
  const resizing = group([resize.with({ url: 'a' }, { immutable: true }), resize.with({ url: 'b' })])
  const canvas = chain(resizing, chord([resize.with({ url: 'c' })], resize.with({ url: 'd' })))

  const { id, created, taskIds } = await real.publish(canvas, { key: 'album', userId: 'u1' })

  expect({ id, created }).toEqual({ id: 'canvas:album', created: true })
  expect(taskIds).toHaveLength(4)
  expect((await real.canvas(id)).status).toBe('running')
  expect((await real.cancelCanvas(id)).status).toBe('cancelled')
})

it('a signature is published as a task', async () => {
  await client.publish(resize.with({ url: 'a' }, { priority: 1 }))

  expect(requests).toEqual([
    { call: 'POST /v1/tasks', body: { type: 'resize', input: { url: 'a' }, priority: 1, key: NEW_KEY } },
  ])
})
