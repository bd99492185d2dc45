import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkSignature, type FindCredentials, type Signature } from '../../local/http/caller.ts'
import { pathOf } from '../../shared/api/endpoints.ts'
import type { SignedFetchOptions } from '../../shared/client/signed/signed-fetch.ts'
import { regionOf, serviceOf, signedFetch } from '../../shared/client/signed/signed-fetch.ts'

/** A server that checks signatures by an implementation of its own, and a signer that may be disturbed on its way. */

const plain = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const temporary = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'secret', sessionToken: 'IQoJ//+token==' }
const known: FindCredentials = id => [plain, temporary].find(({ accessKeyId }) => accessKeyId === id)

let server: Server
let url: string
/** How far the server's clock is ahead of the signer's. */
let skewMs: number
let seen: Array<{ readonly signature: Signature; readonly url: string | undefined; readonly body: string }>

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const now = Date.now() + skewMs
    const signature = checkSignature(request, body, known, now)
    seen.push({ signature, url: request.url, body: body.toString() })
    response.writeHead(signature.kind === 'valid' ? 200 : 403, { date: new Date(now).toUTCString() })
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise(resolve => server.close(resolve)))
beforeEach(() => {
  seen = []
  skewMs = 0
})

/** Sends a signed request, after `disturb` has changed it. */
async function send(
  path: string,
  init: RequestInit = {},
  disturb: (signed: Request) => Request = signed => signed,
  options: SignedFetchOptions = {},
): Promise<number> {
  const sign = signedFetch({
    credentials: plain,
    fetch: signed => fetch(disturb(signed)),
    ...options,
  })
  return (await sign(url + path, init)).status
}

const reason = () => seen.map(({ signature }) => ('reason' in signature ? signature.reason : signature.kind))

describe('a signed request', () => {
  it.each([
    'resize:img-1',
    'resize:a:b@c,d=e+f',
    'resize:two words',
    'resize:größe 界',
    'resize:a/b?c#d%e',
    "resize:it's (fine)!*",
    '~odd',
    '.',
  ])('is accepted for the id %s in its path', async id => {
    expect(await send(pathOf('get', id))).toBe(200)
    expect(seen[0]?.url).toBe(pathOf('get', id))
  })

  it.each([
    '?status=failed&status=ready&type=a',
    '?type=b&type=a&limit=5',
    '?tag=owner%3Ajo%20anne&tag=x',
    '?error=a+b%2Bc%26d%3De~f*(g)',
    '?empty=&flag',
    '',
  ])('is accepted with the query %s, which arrives with the same values', async query => {
    expect(await send(`/v1/tasks${query}`)).toBe(200)
    const [, arrived] = (seen[0]?.url ?? '').split('?')
    const sorted = (text: string) => [...new URLSearchParams(text)].map(pair => pair.join('=')).sort()
    expect(sorted(arrived ?? '')).toEqual(sorted(query))
  })

  it('is accepted with a body, with headers, and under temporary credentials', async () => {
    const body = JSON.stringify({ type: 'resize', input: 'größe 界' })
    const headers = { 'content-type': 'application/json', 'x-odd': ' a   b ' }

    expect(await send('/v1/tasks', { method: 'POST', body, headers })).toBe(200)
    expect(await send('/v1/tasks', { method: 'POST', body }, undefined, { credentials: temporary })).toBe(200)
    expect(await send('/', {}, undefined, { credentials: async () => temporary })).toBe(200)
    expect(seen[0]?.body).toBe(body)
  })

  it('is signed with the time of the API when this clock is wrong, and sent once more, once', async () => {
    for (const wrong of [-3_600_000, 3_600_000]) {
      seen = []
      skewMs = wrong
      const sign = signedFetch({ credentials: plain })

      const statuses = [await sign(`${url}/a`), await sign(`${url}/b`)].map(({ status }) => status)

      expect(statuses).toEqual([200, 200])
      expect(seen.map(one => one.url)).toEqual(['/a', '/a', '/b'])
    }
  })

  it('is not repeated when it is refused for another reason', async () => {
    const wrong = { ...plain, secretAccessKey: 'other' }

    expect(await send('/a', {}, undefined, { credentials: wrong })).toBe(403)
    expect(seen).toHaveLength(1)
  })
})

describe('what a signature does not cover is passed on', () => {
  const members = {
    redirect: 'manual',
    credentials: 'omit',
    keepalive: true,
    cache: 'no-store',
    integrity: 'sha256-x',
    referrer: '',
    referrerPolicy: 'no-referrer',
    mode: 'same-origin',
  } as const satisfies RequestInit

  it.each(['/a', '/a?odd=a+b'])('of a request to %s and of its init', async path => {
    const sent: Request[] = []
    const keep = async (signed: Request) => {
      sent.push(signed)
      return new Response()
    }
    const sign = signedFetch({ credentials: plain, fetch: keep })
    const stopping = new AbortController()

    await sign(new Request(url + path, { ...members, signal: stopping.signal }))
    await sign(url + path, { ...members, method: 'POST', body: 'text', signal: stopping.signal })
    stopping.abort()

    for (const signed of sent) {
      const names = Object.keys(members) as Array<keyof typeof members>
      expect(Object.fromEntries(names.map(name => [name, signed[name]]))).toEqual(members)
      expect(signed.signal.aborted).toBe(true)
    }
    expect(await sent[1]?.text()).toBe('text')
  })

  it('also the dispatcher of Node, by which a program uses a proxy', async () => {
    await fetch(url)
    const ofNode = (globalThis as Record<symbol, unknown>)[Symbol.for('undici.globalDispatcher.1')] as {
      dispatch(...given: unknown[]): boolean
    }
    const used: string[] = []
    const init = (name: string) => {
      const dispatch = (...given: unknown[]) => {
        used.push(name)
        return ofNode.dispatch(...given)
      }
      return { dispatcher: { dispatch } } as RequestInit
    }
    const sign = signedFetch({ credentials: plain })

    await sign(`${url}/a?odd=a+b`, init('of init'))
    await sign(new Request(`${url}/a`, init('of a request')))

    expect(used).toEqual(['of init', 'of a request'])
  })
})

const withHeader = (name: string, value: string | undefined) => (signed: Request) => {
  const headers = new Headers(signed.headers)
  if (value === undefined) headers.delete(name)
  else headers.set(name, value)
  return new Request(signed, { headers })
}
const at = (path: string) => (signed: Request) => new Request(url + path, signed)

describe('the check refuses', () => {
  it.each([
    ['a changed path', at('/v1/tasks/b'), /signature is wrong/],
    ['a changed query', at('/v1/tasks/a?limit=2'), /signature is wrong/],
    ['a changed header', withHeader('x-kept', 'no'), /signature is wrong/],
    ['a missing header', withHeader('x-kept', undefined), /signature is wrong/],
    ['an unsigned header of AWS', withHeader('x-amz-meta', 'a'), /does not cover x-amz-meta/],
    ['another method', (signed: Request) => new Request(signed, { method: 'DELETE' }), /signature is wrong/],
    ['a header that is cut', withHeader('authorization', 'AWS4-HMAC-SHA256 Credential=a/b'), /incomplete/],
    ['a time that is none', withHeader('x-amz-date', 'now'), /x-amz-date/],
  ])('%s', async (_name, disturb, why) => {
    expect(await send('/v1/tasks/a?limit=1', { headers: { 'x-kept': 'yes' } }, disturb)).toBe(403)
    expect(reason()).toEqual([expect.stringMatching(why)])
  })

  it('a changed body', async () => {
    const disturb = (signed: Request) => new Request(signed, { body: '{"a":2}' })

    expect(await send('/', { method: 'POST', body: '{"a":1}' }, disturb)).toBe(403)
    expect(reason()).toEqual([expect.stringMatching(/hash of the body|signature is wrong/)])
  })

  it('a wrong, a missing and a superfluous session token', async () => {
    const tokens = [
      { ...temporary, sessionToken: 'other' },
      omitToken(temporary),
      { ...plain, sessionToken: 't' },
    ]
    for (const credentials of tokens) expect(await send('/', {}, undefined, { credentials })).toBe(403)
    expect(reason()).toEqual(Array(3).fill('the session token is wrong'))
  })

  it('an unknown key, another region, another service, and a signature in the query', async () => {
    await send('/', {}, undefined, { credentials: { ...plain, accessKeyId: 'AKIAOTHER' } })
    await send('/', {}, undefined, { region: 'eu-west-1' })
    await send('/', {}, undefined, { service: 'lambda' })
    await send('/?X-Amz-Signature=abc')

    expect(reason()).toEqual([
      expect.stringContaining('AKIAOTHER is unknown'),
      expect.stringContaining('must be'),
      expect.stringContaining('must be'),
      expect.stringContaining('in the query'),
    ])
  })

  it('a signature that is older than five minutes, and one that is repeated later', async () => {
    let first: Request | undefined
    const keep = (signed: Request) => {
      first = signed.clone()
      return signed
    }
    await send('/a', {}, keep)
    skewMs = 5 * 60_000 + 2_000

    await fetch(first as Request)

    expect(reason()).toEqual(['valid', expect.stringContaining('five minutes')])
  })

  it('nothing of a request that has no signature: the caller decides about it', async () => {
    await fetch(url)
    await fetch(url, { headers: { authorization: 'Bearer abc' } })

    expect(reason()).toEqual(['unsigned', 'unsigned'])
  })
})

function omitToken({ accessKeyId, secretAccessKey }: typeof temporary) {
  return { accessKeyId, secretAccessKey }
}

describe('the region and the service', () => {
  it.each([
    ['abc.execute-api.eu-west-1.amazonaws.com', 'eu-west-1', 'execute-api'],
    ['abc.execute-api.cn-north-1.amazonaws.com.cn', 'cn-north-1', 'execute-api'],
    ['abc.lambda-url.eu-north-1.on.aws', 'eu-north-1', 'lambda'],
    ['127.0.0.1', 'us-east-1', 'execute-api'],
    ['tasks.example.com', 'ap-south-1', 'execute-api'],
  ])('of %s are %s and %s', (host, region, service) => {
    expect(regionOf(host, { AWS_REGION: 'ap-south-1' })).toBe(region)
    expect(serviceOf(host)).toBe(service)
  })

  it('must be known', () => {
    expect(() => regionOf('tasks.example.com', {})).toThrow(/tasks\.example\.com names no region; give/)
    expect(regionOf('tasks.example.com', { AWS_DEFAULT_REGION: 'eu-west-3' })).toBe('eu-west-3')
  })
})
