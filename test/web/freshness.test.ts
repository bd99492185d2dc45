import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { refusal, watchRefusals } from '../../web/api/store.ts'

/** How the pages know whether what they show is up to date. */

const refused = (status: number) =>
  new ProblemError({ type: 'about:blank', title: 'Refused', status, detail: `answer ${status}` })

describe('an answer on screen that is asked again', () => {
  let client: QueryClient
  let answer: () => unknown
  let observer: ReturnType<typeof observed>
  let leave: () => void
  const observed = () => new QueryObserver(client, { queryKey: ['types'], queryFn: async () => answer() })

  beforeEach(async () => {
    client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
    watchRefusals(client)
    answer = () => 'first'
    observer = observed()
    leave = observer.subscribe(() => {})
    await observer.refetch()
  })

  afterEach(() => {
    leave()
    client.clear()
  })

  it.each([400, 401, 403, 429, 500])('and is refused with %s is old, until it is answered', async status => {
    answer = () => {
      throw refused(status)
    }
    await observer.refetch()
    await vi.waitFor(() => expect(refusal.get()).toBe(`answer ${status}`))

    answer = () => 'second'
    await observer.refetch()

    await vi.waitFor(() => expect(refusal.get()).toBeUndefined())
  })

  it('and left while it was refused is reported no longer', async () => {
    answer = () => {
      throw refused(401)
    }
    await observer.refetch()
    await vi.waitFor(() => expect(refusal.get()).toBe('answer 401'))

    leave()

    await vi.waitFor(() => expect(refusal.get()).toBeUndefined())
  })

  it.each([0, 404, 409, 501, 503])('and is answered with %s is not called refused', async status => {
    answer = () => {
      throw refused(status)
    }

    await observer.refetch()
    await new Promise(resolve => setTimeout(resolve))

    expect([observer.getCurrentResult().isError, refusal.get()]).toEqual([true, undefined])
  })
})

describe('the connection', () => {
  let answers: (path: string) => Response

  const send = async (path: string) => {
    const { connection, watchedFetch } = await import('../../web/api/store.ts')
    await watchedFetch(new Request(`http://system.test${path}`)).catch(() => {})
    return connection.get()
  }

  beforeEach(() => {
    vi.resetModules()
    answers = () => new Response('{}')
    vi.stubGlobal('fetch', async ({ url }: Request) => answers(new URL(url).pathname))
    vi.stubGlobal('localStorage', { getItem: () => null })
  })

  afterEach(() => void vi.unstubAllGlobals())

  it('is live once the event stream is open, and no earlier', async () => {
    expect(await send('/v1/types')).toBe('connecting')
    expect(await send('/v1/events')).toBe('live')
    expect(await send('/v1/types')).toBe('live')
  })

  it('is by asking while the event stream is refused', async () => {
    answers = path => new Response('{}', { status: path === '/v1/events' ? 429 : 200 })

    await send('/v1/events')

    expect(await send('/v1/types')).toBe('polling')
  })

  it('gives the answer to a question that was asked early once, and then asks', async () => {
    const { watchedFetch } = await import('../../web/api/store.ts')
    const address = 'http://system.test/v1/types?limit=100'
    vi.stubGlobal('earlyAnswers', new Map([[address, Promise.resolve(new Response('early'))]]))
    answers = () => new Response('asked')
    const textOf = async (request: Request) => (await watchedFetch(request)).text()

    expect(await textOf(new Request(address, { method: 'POST' }))).toBe('asked')
    expect(await textOf(new Request(address))).toBe('early')
    expect(await textOf(new Request(address))).toBe('asked')
  })

  it('breaks when a question that was asked early had no answer', async () => {
    const { connection, watchedFetch } = await import('../../web/api/store.ts')
    const failed = Promise.reject(new TypeError('fetch failed'))
    failed.catch(() => {})
    vi.stubGlobal('earlyAnswers', new Map([['http://system.test/v1/types', failed]]))

    await watchedFetch(new Request('http://system.test/v1/types')).catch(() => {})

    expect(connection.get()).toBe('broken')
  })

  it('reports a forbidden event stream from none', async () => {
    const { isStreamForbidden } = await import('../../web/api/store.ts')
    answers = () => new Response('{}', { status: 501 })
    await send('/v1/events')
    expect(isStreamForbidden.get()).toBe(false)

    answers = () => new Response('{}', { status: 403 })
    await send('/v1/events')

    expect(isStreamForbidden.get()).toBe(true)
  })

  it('breaks with the system, and is live again only with the stream', async () => {
    await send('/v1/events')
    answers = () => {
      throw new TypeError('fetch failed')
    }
    expect(await send('/v1/events')).toBe('broken')

    answers = () => new Response('{}')

    expect(await send('/v1/types')).toBe('connecting')
    expect(await send('/v1/events')).toBe('live')
  })
})
