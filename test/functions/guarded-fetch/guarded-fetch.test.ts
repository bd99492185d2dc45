import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reachOf, systemResolver } from '../../../functions/guarded-fetch/checked-addresses.ts'
import type { GuardedCall } from '../../../functions/guarded-fetch/guarded-fetch.ts'
import { guardedFetch, isSuccess, textOf } from '../../../functions/guarded-fetch/guarded-fetch.ts'
import { Fatal } from '../../../shared/signals.ts'
import { failureOf } from '../../support/failure-of.ts'

/** The answers of a server by path, as raw bytes, so that the server can break the rules of HTTP. */
const ANSWERS: Readonly<Record<string, (socket: Socket) => void>> = {
  '/': socket => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'),
  '/silent': () => {},
  '/slow-body': socket => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello'),
  '/cut-body': socket => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello'),
  '/endless': socket => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const write = () => {
      while (socket.writable && socket.write('x'.repeat(1_000)));
    }
    socket.on('drain', write)
    write()
  },
  '/hang-up': socket => void socket.end(),
  '/upgrade': socket =>
    void socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  '/nonsense': socket => void socket.end('nonsense\r\n\r\n'),
  '/early-hints': socket =>
    void socket.end(
      'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n',
    ),
}

let server: Server
let url: string
const open = new Set<Socket>()

beforeAll(async () => {
  server = createServer(socket => {
    open.add(socket.on('error', () => {}).on('close', () => open.delete(socket)))
    socket.once('data', data => {
      const [, path = ''] = data.toString().split(' ')
      ANSWERS[path.split('?')[0] ?? '']?.(socket)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  for (const socket of open) socket.destroy()
  server?.close()
})

function call(target: string, more: Partial<GuardedCall> = {}) {
  return guardedFetch(new URL(target), {
    method: 'GET',
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    bodyBytesMax: 1_000,
    allowPrivate: true,
    privateHint: 'nothing permits it',
    resolve: systemResolver,
    ...more,
  })
}

describe('a guarded fetch', () => {
  it('returns status and body', async () => {
    const answer = await call(`${url}/`)

    expect(answer).toMatchObject({ status: 200, isCut: false })
    expect(textOf(answer)).toBe('hello')
  })

  it('skips an informational answer before the final one', async () => {
    expect(await call(`${url}/early-hints`)).toMatchObject({ status: 204 })
  })

  it('reads an endless body up to its bound, and closes the connection', async () => {
    const answer = await call(`${url}/endless`)

    expect(answer.isCut).toBe(true)
    expect(answer.body).toHaveLength(1_000)
    await expect.poll(() => open.size).toBe(0)
  })

  it.each([
    ['/silent', 'it was connected and had not answered'],
    ['/slow-body', 'its answer 200 had begun and did not end'],
  ])('says how far it came, and after how long, when %s takes too long', async (path, state) => {
    let [timeoutMs, told] = [50, '']
    // On a busy machine a short timeout ends the call before it has reached this state.
    while (!told.endsWith(state) && timeoutMs < 20_000) {
      timeoutMs *= 3
      const failure = await failureOf(call(`${url}${path}?token=hidden`, { timeoutMs }))
      expect(failure).not.toBeInstanceOf(Fatal)
      expect(failure.name).toBe('TimedOut')
      told = failure.message
    }

    expect(told).toBe(`${url} took longer than ${timeoutMs} ms: ${state}`)
  })

  it('fails at its timeout when the name takes too long to resolve', async () => {
    const failure = await failureOf(
      call('http://slow.example/', { timeoutMs: 50, resolve: () => new Promise(() => {}) }),
    )

    expect(failure.message).toBe('http://slow.example took longer than 50 ms: its name was not resolved yet')
  })

  it.each([
    ['/hang-up', /socket hang up/],
    ['/cut-body', /aborted/],
    ['/upgrade', /closed the connection without an answer/],
    ['/nonsense', /Parse Error/],
  ])('fails when the answer is %s', async (path, message) => {
    const failure = await failureOf(call(`${url}${path}?token=hidden`))

    expect(failure).not.toBeInstanceOf(Fatal)
    expect(failure.message).toMatch(message)
    expect(failure.message).toContain(`the call to ${url} failed`)
    expect(`${failure.stack}`).not.toContain('hidden')
  })

  it('names every address that it tried without success', async () => {
    const unused = await unusedPort()
    const resolve = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]

    const failure = await failureOf(call(`http://none.example:${unused}/`, { resolve }))

    expect(failure.message).toContain(`127.0.0.1:${unused}`)
    expect(failure.message).toContain('::1')
  })

  it('names a host that has no address', async () => {
    const failure = await failureOf(call('http://none.example/', { resolve: async () => [] }))

    expect(failure.message).toContain('none.example has no address')
  })

  it('fails for good when no request can be made', async () => {
    const headers = { 'x-key': 'zwölf Boxkämpfer 🥊' }

    const failure = await failureOf(call(`${url}/`, { headers }))

    expect(failure).toBeInstanceOf(Fatal)
    expect(failure.message).toContain('Invalid character in header')
  })

  it.each(['before it begins', 'while it waits'])('ends with its run, %s', async when => {
    const ending = new AbortController()
    if (when === 'before it begins') ending.abort(new Error('cancelled'))
    const called = failureOf(call(`${url}/silent`, { signal: ending.signal }))
    if (!ending.signal.aborted) await expect.poll(() => open.size).toBeGreaterThan(0)
    ending.abort(new Error('cancelled'))

    expect((await called).message).toBe('cancelled')
  })

  it.each([
    [199, false],
    [200, true],
    [204, true],
    [299, true],
    [300, false],
    [304, false],
    [400, false],
    [503, false],
  ])('has succeeded with status %i: %s', (status, expected) => {
    expect(isSuccess({ status, headers: {}, body: Buffer.alloc(0), isCut: false })).toBe(expected)
  })
})

describe('an address', () => {
  it.each([
    ...['8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.32.0.1', '192.167.255.255'],
    ...['2606:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'],
  ])('%s is public', address => {
    expect(reachOf(address).reach).toBe('public')
  })

  it.each([
    ...['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1'],
    ...['::1', 'fc00::1', 'fd00::1', '::ffff:127.0.0.1', '::ffff:a00:1', '64:ff9b::7f00:1'],
  ])('%s is private', address => {
    expect(reachOf(address).reach).toBe('private')
  })

  it.each([
    ...['0.0.0.0', '169.254.169.254', '224.0.0.1', '255.255.255.255', '240.0.0.1', '192.0.2.1'],
    ...['100.100.100.200', '168.63.129.16', '::', 'fe80::1', 'fe80::1%eth0', 'ff02::1', 'fec0::1'],
    ...['::7f00:1', '2002:7f00:1::', '64:ff9b:1::1', '64:ff9b::a9fe:a9fe', 'fd00:ec2::254', '4000::1'],
    ...['', 'nonsense', '1.2.3.4.5'],
  ])('%s is never called', address => {
    expect(reachOf(address).reach).toBe('never')
  })
})

/** Returns a port without a listener: a server has just closed it. */
async function unusedPort(): Promise<number> {
  const brief = createServer()
  await new Promise<void>(resolve => brief.listen(0, resolve))
  const { port } = brief.address() as AddressInfo
  await new Promise(resolve => brief.close(resolve))
  await new Promise(resolve => connect(port, '127.0.0.1').on('error', resolve))
  return port
}
