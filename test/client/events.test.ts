import { describe, expect, it } from 'vitest'
import type { ApiEvent } from '../../shared/api/events.ts'
import { createClient } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'

type Answer = (request: Request) => Response | Promise<Response>

/** A client whose requests get these answers, one after the other. After the last one there is no answer. */
function aClient(...answers: Answer[]) {
  const requests: Request[] = []
  const client = createClient({
    url: 'http://baton.test',
    fetch: async request => {
      requests.push(request)
      const answer = answers[requests.length - 1]
      if (!answer) throw new TypeError('nobody listens')
      return answer(request)
    },
  })
  return { client, requests }
}

/** A stream that sends these pieces of text, and then ends, breaks, or stays open. */
function streaming(pieces: readonly string[], end: 'ends' | 'breaks' | 'stays' = 'ends'): Answer {
  return ({ signal }) =>
    new Response(
      new ReadableStream({
        start: controller => {
          for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
          if (end === 'ends') controller.close()
          if (end === 'stays') signal.addEventListener('abort', () => controller.error(signal.reason))
        },
        pull: controller => {
          if (end === 'breaks') controller.error(new TypeError('terminated'))
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
}

const refusing = (status: number): Answer => {
  const problem = { type: 'urn:baton:problem:x', title: 'No', status, detail: 'no' }
  return () => Response.json(problem, { status })
}

const told = (id: string) => `id: ${id}\nevent: task.ready\ndata: {"id":"${id}","type":"task.ready"}\n\n`

async function take(events: AsyncIterable<ApiEvent>, count: number): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of events) if (ids.push(id) === count) break
  return ids
}

describe('events', () => {
  it('come one by one, however the stream is cut into pieces, comments left out', async () => {
    const text = `retry: 1000\nid: none\n\n: still here\n\n${told('a')}${told('b').replaceAll('\n', '\r\n')}`
    for (const size of [1, 7, text.length]) {
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
      const { client, requests } = aClient(streaming(pieces, 'stays'))

      expect(await take(client.events(), 2)).toEqual(['a', 'b'])
      expect(requests[0]?.headers.has('last-event-id')).toBe(false)
    }
  })

  it('are requested by type, by task and after an event', async () => {
    const { client, requests } = aClient(streaming([told('b')], 'stays'))

    await take(
      client.events({
        lastEventId: 'a',
        types: ['task.ready', 'task.failed'],
        taskTypes: ['x'],
        taskIds: ['x:1'],
      }),
      1,
    )

    expect(requests[0]?.url).toBe(
      'http://baton.test/v1/events?type=task.ready&type=task.failed&taskType=x&taskId=x%3A1',
    )
    expect(requests[0]?.headers.get('last-event-id')).toBe('a')
  })

  it.each(['ends', 'breaks'] as const)(
    'continue after the last complete one when the connection %s in the middle of an event',
    async end => {
      const { client, requests } = aClient(
        streaming([told('a'), told('b').slice(0, -4)], end),
        refusing(503),
        streaming([told('b')], 'stays'),
      )

      expect(await take(client.events(), 2)).toEqual(['a', 'b'])
      expect(requests.slice(1).map(({ headers }) => headers.get('last-event-id'))).toEqual(['a', 'a'])
    },
  )

  it('continue from the id that the server sent when the connection ends before the first event', async () => {
    const { client, requests } = aClient(streaming(['id: z\n\n']), streaming([told('a')], 'stays'))

    expect(await take(client.events(), 1)).toEqual(['a'])
    expect(requests[1]?.headers.get('last-event-id')).toBe('z')
  })

  it.each<[string, Answer]>([
    ['the API refuses', refusing(403)],
    [
      'the signer fails',
      () => {
        throw new Error('the session has expired')
      },
    ],
    [
      'a proxy answers with a page',
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    ],
    ['an event is not JSON', streaming(['data: {no\n\n'], 'stays')],
  ])('end with a problem when %s on a later connection', async (_name, answer) => {
    const { client, requests } = aClient(streaming([told('a')]), answer)

    const error = await take(client.events(), 2).catch(problem => problem)

    expect(error).toBeInstanceOf(ProblemError)
    expect(requests).toHaveLength(2)
  })

  it('continue after an outage and a network that fails', async () => {
    const { client } = aClient(
      streaming([told('a')]),
      refusing(503),
      () => {
        throw new TypeError('fetch failed')
      },
      streaming([told('b')], 'stays'),
    )

    expect(await take(client.events(), 2)).toEqual(['a', 'b'])
  })

  it('end without an error when they are aborted, on a connection or between two connections', async () => {
    for (const answers of [[streaming([told('a')], 'stays')], [streaming([told('a')])]]) {
      const { client } = aClient(...answers)
      const ending = new AbortController()
      const seen: string[] = []

      for await (const { id } of client.events({ signal: ending.signal })) {
        seen.push(id)
        setTimeout(() => ending.abort(), 10)
      }

      expect(seen).toEqual(['a'])
    }
  })

  it.each([
    ['where the API has no events', [refusing(501)], 501],
    ['when no answer comes at first', [], 0],
    ['when the API is too busy at first', [refusing(503)], 503],
    ['when a later connection is refused', [streaming([told('a')]), refusing(400)], 400],
  ])('fail %s', async (_name, answers, status) => {
    const { client } = aClient(...(answers as Answer[]))

    const failure = await take(client.events(), 2).catch((error: unknown) => error)

    expect(failure).toBeInstanceOf(ProblemError)
    expect((failure as ProblemError).status).toBe(status)
  })
})
