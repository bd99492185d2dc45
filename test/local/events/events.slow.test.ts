import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEventLog, createEventStream, type EventLog } from '../../../local/events/event-stream.ts'
import { createEventBus } from '../../../local/events/events.ts'
import type { Call } from '../../../local/gateway/call.ts'

const KEPT = 300

let log: EventLog
let server: Server
let url: string
const readers: AbortController[] = []

beforeEach(async () => {
  log = createEventLog(KEPT)
  const stream = createEventStream(log)
  server = createServer((incoming, response) => {
    if (!stream(incoming, response)) response.writeHead(418).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(() => {
  for (const reader of readers.splice(0)) reader.abort()
  server.closeAllConnections()
  return new Promise(resolve => server.close(resolve))
})

const anEvent = (id: string, type = 'task.ready', taskId = 'resize:1', filler = '') => ({
  id,
  type,
  taskId,
  json: JSON.stringify({ id, type, taskId, filler }),
})

/** Connects a reader to the stream. Its `text` grows with what it receives. */
async function read(query = '', headers: Record<string, string> = {}) {
  const ending = new AbortController()
  readers.push(ending)
  const response = await fetch(`${url}/v1/events${query}`, { headers, signal: ending.signal })
  const reader = { response, text: '', hangUp: () => ending.abort() }
  const collect = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) reader.text += decoder.decode(chunk, { stream: true })
  }
  collect().catch(() => {})
  return reader
}

const idsIn = (text: string) => [...text.matchAll(/^id: (.*)\nevent: /gm)].map(([, id]) => id)

async function until(holds: () => boolean): Promise<void> {
  for (const giveUp = Date.now() + 60_000; !holds(); await sleep(5)) {
    if (Date.now() > giveUp) throw new Error('not within a minute')
  }
}

describe('a reader', () => {
  it('gets later events as server-sent events, and the id from which it began', async () => {
    log.append(anEvent('old'))

    const live = await read()
    log.append(anEvent('new'))
    await until(() => idsIn(live.text).length === 1)

    expect(live.response.status).toBe(200)
    expect(live.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(live.text).toBe(
      `retry: 1000\nid: old\n\nid: new\nevent: task.ready\ndata: ${anEvent('new').json}\n\n`,
    )
  })

  it.each([
    ['the header', '', { 'last-event-id': 'b' }],
    ['a parameter', '?lastEventId=b', {}],
    ['the header, whatever the parameter says', '?lastEventId=a', { 'last-event-id': 'b' }],
  ])(
    'that names the last event it has seen by %s gets the events after that one',
    async (_how, query, headers) => {
      for (const id of ['a', 'b', 'c']) log.append(anEvent(id))

      const reader = await read(query, headers)
      log.append(anEvent('d'))
      await until(() => idsIn(reader.text).length === 2)

      expect(idsIn(reader.text)).toEqual(['c', 'd'])
    },
  )

  it('that names an event that is not kept begins with the oldest, and the stream says so', async () => {
    for (let number = 0; number < KEPT + 5; number++) log.append(anEvent(`e${number}`))

    const reader = await read('?lastEventId=e0')
    await until(() => idsIn(reader.text).length === KEPT)

    expect(reader.text).toContain(': the last event is not kept any more')
    expect(idsIn(reader.text)[0]).toBe('e5')
  })

  it.each([
    ['?type=task.failed&type=task.lost', ['b', 'c']],
    ['?taskType=crop', ['b']],
    ['?taskId=resize:2', ['c', 'd']],
    ['?taskId=resize:2&type=task.ready', ['d']],
  ])('that asks with %s gets only the events that match', async (query, ids) => {
    const reader = await read(query)
    log.append(anEvent('a'))
    log.append(anEvent('b', 'task.failed', 'crop:1'))
    log.append(anEvent('c', 'task.lost', 'resize:2'))
    log.append(anEvent('d', 'task.ready', 'resize:2'))
    await until(() => idsIn(reader.text).length === ids.length)

    expect(idsIn(reader.text)).toEqual(ids)
  })

  it.each([
    ['?type=task.gone', 'type', 'task.published'],
    ['?since=1', 'since', 'lastEventId'],
  ])(
    'that asks for something unknown, %s, is refused, and the problem names the parameter',
    async (query, path, legal) => {
      const response = await fetch(`${url}/v1/events${query}`)

      const problem = (await response.json()) as { errors: unknown[]; detail: string }
      expect(response.status).toBe(400)
      expect(problem.errors).toEqual([{ path, message: expect.stringContaining(legal) }])
      expect(problem.detail).toContain(path)
    },
  )

  it.each(['%0Aevent:+task.failed%0Adata:+1%0A%0A', 'a%0D', '%00'])(
    'that names a last event with a line break, %s, is refused: the rest of the id would read as an event',
    async id => {
      const response = await fetch(`${url}/v1/events?lastEventId=${id}`)

      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ errors: [{ path: 'lastEventId' }] })
    },
  )

  it('that reads nothing does not delay other readers, and misses events that are not kept any more', async () => {
    const stuck = request(`${url}/v1/events`)
    stuck.end()
    const response = await new Promise<NodeJS.ReadableStream>(resolve => stuck.once('response', resolve))
    response.pause()
    const quick = await read()
    const total = KEPT * 4
    for (let number = 0; number < total; number++) {
      log.append(anEvent(`e${number}`, 'task.ready', 'resize:1', 'x'.repeat(60_000)))
      if (number % 50 === 0) await until(() => idsIn(quick.text).length > number - 100)
    }
    await until(() => idsIn(quick.text).length === total)

    let text = ''
    response.on('data', chunk => {
      text += chunk
    })
    response.resume()
    await until(() => text.includes(`id: e${total - 1}\n`))

    expect(text).toMatch(/: too slow, \d+ events were missed/)
    expect(idsIn(text).length).toBeLessThan(total)
    stuck.destroy()
  })

  it('is refused while there are too many readers, until one disconnects', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => read()))
    const refused = await fetch(`${url}/v1/events`)
    all[0]?.hangUp()
    let status = 503
    for (let tries = 0; status === 503 && tries < 100; tries++) {
      await sleep(10)
      status = (await read()).response.status
    }

    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(status).toBe(200)
  })
})

it('other requests are left to the routes', async () => {
  expect((await fetch(`${url}/v1/events`, { method: 'POST' })).status).toBe(418)
  expect((await fetch(`${url}/v1/tasks`)).status).toBe(418)
})

it('an event that is published again is not sent again', async () => {
  for (const id of ['a', 'b', 'a', 'c']) log.append(anEvent(id))

  expect(log.read(0, 10).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

describe('the bus', () => {
  const put = async (body: object, operation = 'PutEvents') => {
    const call = { operation, body: Buffer.from(JSON.stringify(body)) } as Call
    const answer = await createEventBus(log, ['mine', 'arn:mine'])(call)
    return { status: answer.status, body: JSON.parse(answer.body.toString()) }
  }
  const entry = (more: object = {}) => ({
    ...{ EventBusName: 'mine', Source: 'baton', DetailType: 'task.ready' },
    Detail: '{"id":"e1","type":"task.ready","taskId":"a:b","system":"Baton"}',
    ...more,
  })

  it('keeps events of the system, without the name of the system', async () => {
    const { status, body } = await put({
      Entries: [entry(), entry({ Source: 'other', EventBusName: 'arn:mine' })],
    })

    expect(status).toBe(200)
    expect(body).toMatchObject({ FailedEntryCount: 0, Entries: [{}, {}] })
    expect(log.read(0, 10)).toEqual([
      { id: 'e1', type: 'task.ready', taskId: 'a:b', json: '{"id":"e1","type":"task.ready","taskId":"a:b"}' },
    ])
  })

  it.each([
    ['another bus', { EventBusName: 'yours' }, 'InvalidArgument'],
    ['no source', { Source: '' }, 'InvalidArgument'],
    ['a detail that is not an object', { Detail: '7' }, 'MalformedDetail'],
    ['a detail that is not JSON', { Detail: '{' }, 'MalformedDetail'],
  ])('refuses only the entry with %s', async (_name, more, ErrorCode) => {
    const { body } = await put({ Entries: [entry(more), entry()] })

    expect(body).toMatchObject({
      FailedEntryCount: 1,
      Entries: [{ ErrorCode }, { EventId: expect.any(String) }],
    })
  })

  it.each([
    ['no entries', { Entries: [] }, 'PutEvents'],
    ['eleven entries', { Entries: Array.from({ length: 11 }, () => entry()) }, 'PutEvents'],
    [
      'more than 256 KB',
      { Entries: [entry({ Detail: JSON.stringify({ x: 'x'.repeat(300_000) }) })] },
      'PutEvents',
    ],
    ['another operation', {}, 'ListRules'],
  ])('refuses a request with %s', async (_name, body, operation) => {
    expect((await put(body, operation)).status).toBe(400)
  })
})
