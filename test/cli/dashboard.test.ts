import { type IncomingHttpHeaders, request as send } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { explainingRefusals } from '../../cli/aws/explain-refusal.ts'
import { type DashboardServer, startDashboard } from '../../cli/dashboard/dashboard.ts'
import { PAGE_TOKEN } from '../../cli/dashboard/session.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { aFolder } from '../support/a-folder.ts'
import { KEYS } from '../support/cli/a-signed-api.ts'
import { anApiPerTest, published } from '../support/http/an-api.ts'

const SYSTEM_URL = 'https://api.example'

const folder = aFolder({
  'index.html': '<title>the dashboard</title>',
  'assets/main-AB12.js': 'start()',
})

const api = anApiPerTest()
/** The calls that the system has got. */
let calls: Request[]
/** Answers in place of the API. */
let instead: ((request: Request) => Promise<Response> | Response) | undefined
let running: DashboardServer[]
/** What the operator was reported in the terminal. */
let reported: string[]

beforeEach(() => {
  calls = []
  instead = undefined
  running = []
  reported = []
})
afterEach(async () => {
  for (const server of running) await server.stop()
})

async function start(isReadOnly = false): Promise<DashboardServer & { readonly base: string }> {
  const fetch = async (request: Request) => {
    calls.push(request)
    return (await instead?.(request)) ?? api.app.request(request)
  }
  const system = { url: SYSTEM_URL, fetch }
  const server = await startDashboard({
    folder,
    port: 0,
    isReadOnly,
    system,
    report: one => reported.push(one),
  })
  running.push(server)
  return { ...server, base: new URL(server.url).origin }
}

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }
type Asked = {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

/** Sends a request as it is: `fetch` would not let a test choose the host, and would clean the path. */
function ask(
  base: string,
  path: string,
  { method = 'GET', headers = {}, body }: Asked = {},
): Promise<Answer> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const request = send({ hostname, port, path, method, headers }, async response => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: await text(response) })
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** What a browser keeps after it has opened the printed address, as the headers of a call by its page. */
type Entered = { readonly cookie: string; readonly [PAGE_TOKEN]: string }

/** Opens the printed address as a browser does. */
async function enter({ url, base }: { readonly url: string; readonly base: string }): Promise<Entered> {
  const { pathname, search } = new URL(url)
  const { headers, body } = await ask(base, pathname + search)
  return {
    cookie: (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '',
    [PAGE_TOKEN]: /setItem\('[\w-]+', '([\w-]+)'\)/.exec(body)?.[1] ?? '',
  }
}

describe('the printed address', () => {
  it('is exchanged once for a cookie and a token, and the address is clean then', async () => {
    const { url, base } = await start()
    const { pathname, search } = new URL(url)

    const first = await ask(base, pathname + search)
    const cookie = first.headers['set-cookie']?.[0] ?? ''
    const page = await ask(base, '/', {
      headers: { cookie: cookie.split(';')[0] ?? '', accept: 'text/html' },
    })
    const again = await ask(base, pathname + search)

    expect(search.length).toBeGreaterThan(40)
    expect(first.status).toBe(200)
    expect(first.body).toMatch(/localStorage\.setItem\('[\w-]+', '[\w-]{43}'\); location\.replace\('\/'\)/)
    expect(first.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringMatching(/^default-src 'none'; script-src 'nonce-[\w-]{43}';/),
    })
    expect(first.body).not.toContain(search.slice('?secret='.length))
    expect(cookie).toMatch(/^baton-dashboard-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(cookie).not.toContain(search.slice('?secret='.length))
    expect(page).toMatchObject({ status: 200, body: '<title>the dashboard</title>' })
    expect(again.status).toBe(401)
    expect(again.body).toContain('works once')
  })

  it('opened again in the same browser leads to the clean address', async () => {
    const server = await start()
    const { cookie } = await enter(server)
    const { pathname, search } = new URL(server.url)

    expect(await ask(server.base, pathname + search, { headers: { cookie } })).toMatchObject({
      status: 303,
      headers: { location: '/' },
    })
  })

  it('is not used up by a preview, or by a wrong guess', async () => {
    const { url, base } = await start()
    const { pathname, search } = new URL(url)

    expect((await ask(base, pathname + search, { method: 'HEAD' })).status).toBe(401)
    expect((await ask(base, '/?secret=guess')).body).toContain('is not the address of this dashboard')
    expect((await ask(base, `/tasks${search}`)).status).toBe(401)
    expect((await ask(base, pathname + search)).status).toBe(200)
  })

  it('that comes a second time ends the session, also of the browser that came first', async () => {
    const server = await start()
    const entered = await enter(server)
    const entry = server.url.slice(server.base.length)
    expect((await ask(server.base, '/v1/types', { headers: entered })).status).toBe(200)

    const second = await ask(server.base, entry)
    await server.usedTwice
    const first = await ask(server.base, '/v1/types', { headers: entered })

    expect(second.status).toBe(401)
    expect(second.body).toContain('was opened a second time, so the dashboard has ended')
    expect(second.headers['set-cookie']).toBeUndefined()
    expect(first.status).toBe(401)
    expect(JSON.parse(first.body).detail).toContain('was opened a second time')
    expect(calls).toHaveLength(1)
  })

  it('opens the dashboard of this start only', async () => {
    const [one, other] = [await start(), await start()]

    expect((await ask(other.base, new URL(one.url).search.replace(/^/, '/'))).status).toBe(401)
    expect((await ask(other.base, '/v1/types', { headers: await enter(one) })).status).toBe(401)
  })
})

describe('without the cookie', () => {
  it.each(['/', '/tasks', '/assets/main-AB12.js', '/icon.svg'])('%s is a plain page with 401', async path => {
    const { base } = await start()
    const { status, headers, body } = await ask(base, path, { headers: { accept: 'text/html' } })

    expect({ status, type: headers['content-type'] }).toEqual({
      status: 401,
      type: 'text/plain; charset=utf-8',
    })
    expect(body).toContain('Start baton dashboard again')
    expect(body).not.toContain('<')
  })

  it('a call of the API is refused with a problem document, and does not reach the system', async () => {
    const { base } = await start()
    const wrong = `baton-dashboard-${new URL(base).port}=x`
    for (const headers of [{}, { cookie: wrong }]) {
      const { status, body } = await ask(base, '/v1/types', { headers })
      expect(status).toBe(401)
      expect(JSON.parse(body)).toMatchObject({ type: 'urn:baton:problem:unauthorized', status: 401 })
    }
    expect(calls).toEqual([])
  })
})

describe('without the token of the page', () => {
  it.each([
    ['none', {}],
    ['a wrong one', { [PAGE_TOKEN]: 'x'.repeat(43) }],
    ['the headers of a browser', { 'sec-fetch-site': 'same-origin' }],
  ])('the cookie, which goes to every port, opens no call of the API: %s', async (_name, headers) => {
    const server = await start()
    const { cookie } = await enter(server)
    const call = await ask(server.base, '/v1/types', { headers: { cookie, ...headers } })
    const health = await ask(server.base, '/healthz', { headers: { cookie, ...headers } })

    expect([call.status, health.status]).toEqual([401, 401])
    expect(JSON.parse(call.body).detail).toContain('must come from the page')
    expect(calls).toEqual([])
  })

  it('the cookie opens the files, and the description of the API, to which the reference links', async () => {
    const server = await start()
    const { cookie } = await enter(server)

    expect((await ask(server.base, '/assets/main-AB12.js', { headers: { cookie } })).status).toBe(200)
    expect((await ask(server.base, '/v1/openapi.json', { headers: { cookie } })).status).toBe(200)
    expect((await ask(server.base, '/v1/openapi.json')).status).toBe(401)
  })

  it('the token without the cookie opens nothing', async () => {
    const server = await start()
    const { [PAGE_TOKEN]: token } = await enter(server)

    expect((await ask(server.base, '/v1/types', { headers: { [PAGE_TOKEN]: token } })).status).toBe(401)
  })
})

describe('foreign pages', () => {
  it.each([
    ['another host', { host: 'evil.example' }],
    ['a host that is pointed at this machine', { host: 'rebound.example:80' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin of its own', { origin: 'null' }],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a page of the same site', { 'sec-fetch-site': 'same-site' }],
  ])('%s are refused, even with the cookie and the secret', async (_name, headers) => {
    const server = await start()
    const entry = server.url.slice(server.base.length)
    const withoutCookie = await ask(server.base, entry, { headers })
    const entered = await enter(server)
    const withCookie = await ask(server.base, '/v1/types', { headers: { ...headers, ...entered } })

    expect([withoutCookie.status, withCookie.status]).toEqual([403, 403])
    expect(JSON.parse(withCookie.body)).toMatchObject({ title: 'The dashboard does not answer this' })
    expect(calls).toEqual([])
  })
})

describe('calls of the API', () => {
  const entered = async (isReadOnly = false) => {
    const server = await start(isReadOnly)
    const own = await enter(server)
    return (path: string, asked: Asked = {}) =>
      ask(server.base, path, { ...asked, headers: { ...own, ...asked.headers } })
  }
  const json = (body: unknown) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  it('reach the system as they are, without the cookie', async () => {
    const call = await entered()
    const created = await call('/v1/tasks', {
      method: 'POST',
      ...json({ type: 'jobs', key: 'a', input: 'ü' }),
    })
    const listed = await call('/v1/tasks?type=jobs&status=ready&status=delayed')
    const removed = await call('/v1/tasks/jobs%3Aa', { method: 'DELETE' })

    expect(created).toMatchObject({ status: 201, headers: { location: '/v1/tasks/jobs%3Aa' } })
    expect(JSON.parse(created.body).task.input).toBe('ü')
    expect(JSON.parse(listed.body).items).toHaveLength(1)
    expect(removed).toMatchObject({ status: 204, body: '' })
    expect(calls.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `POST ${SYSTEM_URL}/v1/tasks`,
      `GET ${SYSTEM_URL}/v1/tasks?type=jobs&status=ready&status=delayed`,
      `DELETE ${SYSTEM_URL}/v1/tasks/jobs%3Aa`,
    ])
    for (const { headers } of calls)
      expect([headers.get('cookie'), headers.get(PAGE_TOKEN)]).toEqual([null, null])
  })

  it('give the problems of the system unchanged', async () => {
    const call = await entered()
    const { status, headers, body } = await call('/v1/tasks/jobs%3Anone')

    expect(status).toBe(404)
    expect(headers['content-type']).toContain('application/problem+json')
    expect(JSON.parse(body).type).toBe('urn:baton:problem:not-found')
  })

  it.each(['/local/cost', '/v1/../admin', '//evil.example/v1/types', '/v2/types', '/v1x'])(
    'are only paths of the API: %s is not passed on',
    async path => {
      const call = await entered()

      expect((await call(path)).status).toBe(404)
      expect(calls).toEqual([])
    },
  )

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'that change something (%s) are refused with --read-only',
    async method => {
      const id = await published(api)
      const call = await entered(true)
      const { status, headers, body } = await call(`/v1/tasks/${encodeURIComponent(id)}`, {
        method,
        ...json({}),
      })

      expect({ status, reported: headers['baton-read-only'] }).toEqual({ status: 403, reported: 'true' })
      expect(JSON.parse(body)).toMatchObject({ title: 'This dashboard only reads', status: 403 })
      expect(calls).toEqual([])
    },
  )

  it('that read are answered with --read-only, and the dashboard is reported', async () => {
    const call = await entered(true)
    const answer = await call('/v1/types')

    expect(answer).toMatchObject({ status: 200, headers: { 'baton-read-only': 'true' } })
    expect((await (await entered())('/v1/types')).headers['baton-read-only']).toBeUndefined()
  })

  it('that are too long are refused, and requests to a system that is gone or answers too much fail', async () => {
    const call = await entered()
    const long = await call('/v1/tasks', { method: 'POST', body: Buffer.alloc(5 * 1024 * 1024 + 1) })
    instead = () =>
      Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }))
    const gone = await call('/v1/types')
    instead = () => new Response(Buffer.alloc(10 * 1024 * 1024 + 1))
    const tooMuch = await call('/v1/types')

    expect(long.status).toBe(413)
    expect(calls).toHaveLength(2)
    expect(gone.status).toBe(503)
    expect(JSON.parse(gone.body).detail).toBe(`${SYSTEM_URL}: connect ECONNREFUSED`)
    expect(JSON.parse(tooMuch.body)).toMatchObject({
      status: 503,
      detail: expect.stringContaining('more than 10 MB'),
    })
  })

  it('without credentials are 401 and say how to log in, because a repetition fails again', async () => {
    const call = await entered()
    const detail = 'no AWS credentials of the profile live: expired; log in with aws sso login --profile live'
    instead = () => Promise.reject(new BatonError('misconfigured', detail))
    const { status, body } = await call('/v1/types')
    instead = undefined

    expect(status).toBe(401)
    expect(JSON.parse(body)).toMatchObject({ title: 'The dashboard has no AWS credentials', detail })
    expect(reported).toEqual([`The dashboard has no AWS credentials: ${detail}`])
    expect((await call('/v1/types')).status).toBe(200)
  })

  it('that the system refuses are reported in the terminal once for each reason, and again after a success', async () => {
    const call = await entered()
    const refusal = (detail: string) => () =>
      Response.json(
        { type: 'urn:baton:problem:forbidden', title: 'Refused', status: 403, detail },
        { status: 403, headers: { 'content-type': 'application/problem+json' } },
      )
    instead = refusal('expired')
    const [first] = [await call('/v1/types'), await call('/v1/workers')]
    instead = refusal('no permission')
    await call('/v1/types')
    instead = undefined
    await call('/v1/types')
    instead = refusal('no permission')
    await call('/v1/types')

    expect(JSON.parse(first.body)).toMatchObject({ status: 403, detail: 'expired' })
    expect(reported).toEqual(['Refused: expired', 'Refused: no permission', 'Refused: no permission'])
  })

  it('that lack a permission are reported once for all paths, until one of them succeeds', async () => {
    const call = await entered()
    const sts = async () =>
      new Response(
        '<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>ada</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>',
      )
    const forbidden = async () => Response.json({ message: 'Forbidden' }, { status: 403 })
    instead = explainingRefusals(forbidden, {
      ...{ region: 'us-east-1', asksAws: true, credentials: async () => KEYS },
      io: { env: {}, fetch: sts },
    })
    const refuses = instead
    const rounds = async () => {
      for (const path of ['/v1/types', '/v1/workers?limit=5', '/v1/types', '/v1/workers?limit=5'])
        await call(path)
    }
    await rounds()
    instead = request => (request.url.includes('/v1/tasks') ? api.app.request(request) : refuses(request))
    await call('/v1/tasks?type=jobs')
    await rounds()
    instead = () => new Response('', { status: 503 })
    await call('/v1/types')
    instead = refuses
    await rounds()
    const toldBefore = [...reported]
    instead = undefined
    await call('/v1/workers')
    instead = refuses
    await rounds()

    const reason = (path: string) =>
      expect.stringMatching(`^You may not make this call: ada .* for GET ${path} of`)
    expect(toldBefore).toEqual([reason('/v1/types')])
    expect(reported).toEqual([reason('/v1/types'), reason('/v1/types')])
  })

  it.each([401, 403])('that a gateway refuses with %i and no reason say what to check', async status => {
    const call = await entered()
    instead = () => Response.json({ message: 'Forbidden' }, { status })
    const { body, headers } = await call('/v1/types')

    expect(headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(body)).toMatchObject({ status, title: 'The system refuses your calls' })
    expect(reported).toEqual([
      expect.stringContaining('check BATON_TOKEN, or start baton dashboard again with --stack'),
    ])
  })

  it('for events pass on what comes while it comes, and end with the browser', async () => {
    const upstream = Promise.withResolvers<AbortSignal>()
    instead = ({ signal }) => {
      upstream.resolve(signal)
      const body = new ReadableStream({
        start: stream => stream.enqueue(new TextEncoder().encode('id: 1\n\n')),
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
    const server = await start()
    const headers = await enter(server)
    const leaving = new AbortController()
    const answer = await fetch(`${server.base}/v1/events`, { headers, signal: leaving.signal })
    const { value } = (await answer.body?.getReader().read()) ?? {}
    const signal = await upstream.promise
    leaving.abort()

    expect(new TextDecoder().decode(value)).toBe('id: 1\n\n')
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    await expect.poll(() => signal.aborted).toBe(true)
  })
})

it('a port that is taken is named', async () => {
  const { base } = await start()
  const port = Number(new URL(base).port)
  const system = { url: SYSTEM_URL, fetch }

  await expect(startDashboard({ folder, port, isReadOnly: false, system, report: () => {} })).rejects.toThrow(
    `port ${port} cannot be used (EADDRINUSE): give another --port`,
  )
})
