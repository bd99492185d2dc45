import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEventBridge } from '../../shared/aws/event-bus.ts'
import type { BatonEvent } from '../../shared/core/events/events.ts'
import type { Events } from '../../shared/ports/messages.ts'
import { NOW } from '../support/tasks/a-task.ts'

type Entry = { readonly Detail: string; readonly [name: string]: unknown }
type Answer = { readonly status: number; readonly body: object }

/** A server that accepts entries, unless a test gives it another answer. */
let server: Server
let requests: Entry[][]
let answer: (entries: readonly Entry[]) => Answer
let client: EventBridgeClient
let events: Events

beforeEach(async () => {
  requests = []
  answer = entries => ({ status: 200, body: accepted(entries) })
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { Entries } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { Entries: Entry[] }
    requests.push(Entries)
    const { status, body } = answer(Entries)
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  client = new EventBridgeClient({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  })
  events = createEventBridge(client, { bus: 'the-bus', system: 'Baton' })
})

afterEach(() => {
  client.destroy()
  server.closeAllConnections()
  return new Promise(resolve => server.close(resolve))
})

const accepted = (entries: readonly Entry[]) => ({
  FailedEntryCount: 0,
  Entries: entries.map((_entry, index) => ({ EventId: String(index) })),
})

function anEvent(number: number, parts: Partial<BatonEvent> = {}): BatonEvent {
  return {
    id: `e${number}`,
    type: 'task.ready',
    at: NOW,
    taskId: `resize:${number}`,
    status: 'ready',
    ...parts,
  }
}

const ids = (entries: readonly Entry[]) => entries.map(({ Detail }) => JSON.parse(Detail).id)

it('an event becomes an entry with its source, its type and its time', async () => {
  const failures = await events.publish([anEvent(1)])

  expect(failures).toEqual([])
  expect(requests).toEqual([
    [
      {
        EventBusName: 'the-bus',
        Source: 'baton',
        DetailType: 'task.ready',
        Time: NOW / 1_000,
        Detail: expect.any(String),
      },
    ],
  ])
  expect(JSON.parse(requests[0]![0]!.Detail)).toEqual({
    id: 'e1',
    type: 'task.ready',
    at: new Date(NOW).toISOString(),
    taskId: 'resize:1',
    status: 'ready',
    system: 'Baton',
  })
})

it('no events cost no request', async () => {
  expect(await events.publish([])).toEqual([])
  expect(requests).toEqual([])
})

it('ten events are one request, in their order', async () => {
  await events.publish(Array.from({ length: 10 }, (_, number) => anEvent(number)))

  expect(requests.map(ids)).toEqual([Array.from({ length: 10 }, (_, number) => `e${number}`)])
})

it('many events are sent ten a request, and those about one task stay in order', async () => {
  const all = Array.from({ length: 130 }, (_, number) => anEvent(number, { taskId: `resize:${number % 7}` }))

  const failures = await events.publish(all)

  expect(failures).toEqual([])
  expect(Math.max(...requests.map(entries => entries.length))).toBe(10)
  const sent = requests.flat().map(({ Detail }) => JSON.parse(Detail) as BatonEvent)
  expect(sent).toHaveLength(130)
  for (const task of ['resize:0', 'resize:6']) {
    expect(sent.filter(({ taskId }) => taskId === task).map(({ id }) => id)).toEqual(
      all.filter(({ taskId }) => taskId === task).map(({ id }) => id),
    )
  }
})

describe('an event that is not published is returned by its position', () => {
  it.each([
    ['ThrottlingException', true],
    ['InternalFailure', true],
    ['InternalException', true],
    ['MalformedDetail', false],
    ['AccessDeniedException', false],
    ['NotAuthorizedForSourceException', false],
  ])('when one entry fails with %s, which is transient: %s', async (ErrorCode, transient) => {
    answer = entries => ({
      status: 200,
      body: {
        FailedEntryCount: 1,
        Entries: entries.map((_, index) =>
          index === 1 ? { ErrorCode, ErrorMessage: 'no' } : { EventId: 'x' },
        ),
      },
    })

    const failures = await events.publish([anEvent(0), anEvent(1), anEvent(2)])

    expect(failures).toEqual([{ index: 1, reason: `${ErrorCode}: no`, transient }])
  })

  it.each([
    ['ThrottlingException', 400, true],
    ['InternalException', 500, true],
    ['ServiceUnavailable', 503, true],
    ['ValidationException', 400, false],
    ['AccessDeniedException', 400, false],
  ])(
    'when the request is answered with %s (%d), which is transient: %s',
    async (__type, status, transient) => {
      answer = () => ({ status, body: { __type, message: 'no' } })

      const failures = await events.publish([anEvent(0), anEvent(1)])

      expect(failures.map(({ index }) => index)).toEqual([0, 1])
      expect(failures.every(failure => failure.transient === transient)).toBe(true)
    },
  )

  it('when no server listens, and the later requests are not tried', async () => {
    const deaf = new EventBridgeClient({
      endpoint: 'http://127.0.0.1:1',
      region: 'us-east-1',
      maxAttempts: 1,
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    })
    let tries = 0
    deaf.middlewareStack.add(
      next => args => {
        tries += 1
        return next(args)
      },
      { step: 'finalizeRequest', priority: 'low' },
    )
    const one = { taskId: 'resize:one' }
    const all = Array.from({ length: 25 }, (_, number) => anEvent(number, one))

    const failures = await createEventBridge(deaf, { bus: 'b', system: 's' }).publish(all)

    expect(failures).toHaveLength(25)
    expect(failures.every(({ transient }) => transient)).toBe(true)
    expect(tries).toBe(1)
    deaf.destroy()
  })
})
